"""Three ways to part questions for training and testing, and a finder of leaks between them (document 001, "Evaluation labels are part of the system").

"Randomly splitting near-duplicate passages can leak wording and version families into both train and test." A passage is on the side of the questions
that it is evidence for. It leaks where the other side has the same passage, a near-duplicate, or another version of its family.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from lib import text
from lib.agreement import exact_share
from lib.ranking import QUESTION

TRAIN, TEST, NEITHER = "train", "test", "neither"
KINDS = ("same passage", "near-duplicate", "family")
LEAKS = [*QUESTION, "doc_id", "kind", "train_qid", "train_doc_id", "jaccard"]
WORDS, LEAST = 4, 0.5  # a shingle's words; Jaccard from which two passages are near-duplicates


def shingles(said: str, words: int = WORDS) -> frozenset[tuple[str, ...]]:
    """Every run of ``words`` words, as the answer normaliser spells them (no articles); a shorter text is one shingle.

    >>> sorted(shingles("The ferry sails at nine.", 2))
    [('at', 'nine'), ('ferry', 'sails'), ('sails', 'at')]
    """
    terms = text.answer_tokens(said)
    return frozenset(tuple(terms[i : i + words]) for i in range(max(1, len(terms) - words + 1))) if terms else frozenset()


def near_duplicates(texts: Mapping[str, str], words: int = WORDS, least: float = LEAST) -> dict[tuple[str, str], float]:
    """Pairs of passages (smaller id first) whose shingles have a Jaccard index of ``least`` or more; exact, through an inverted index.

    >>> near_duplicates({"a": "one two three four five", "b": "one two three four five", "c": "six"})
    {('a', 'b'): 1.0}
    """
    if not 0 < least <= 1:
        raise ValueError(f"least must lie above 0 and at most at 1, got {least}")
    sets = {name: shingles(said, words) for name, said in sorted(texts.items())}
    shared, holding = Counter(), {}
    for name, mine in sets.items():
        for shingle in mine:
            shared.update((other, name) for other in holding.get(shingle, ()))
            holding.setdefault(shingle, []).append(name)
    found = {pair: n / (len(sets[pair[0]]) + len(sets[pair[1]]) - n) for pair, n in shared.items()}
    return {pair: value for pair, value in sorted(found.items()) if value >= least}


def groups(families: Mapping[str, str], pairs: Collection[tuple[str, str]] = ()) -> dict[str, str]:
    """Passage -> its group: all versions of a family, and families that share near-duplicates, are one; named after its first family.

    >>> groups({"r1": "rule", "r2": "rule", "f": "faq", "x": "other"}, [("f", "r2")])
    {'r1': 'faq', 'r2': 'faq', 'f': 'faq', 'x': 'other'}
    """
    above = {family: family for family in families.values()}

    def top(family: str) -> str:
        while above[family] != family:
            family = above[family]
        return family

    for one, other in sorted(pairs):
        first, second = sorted((top(families[one]), top(families[other])))
        above[second] = first
    return {passage: top(family) for passage, family in families.items()}


def _table(questions: pd.DataFrame, sides: Sequence[str], name: str) -> pd.DataFrame:
    return pd.DataFrame({"dataset": questions["dataset"].to_numpy(), "qid": questions["qid"].to_numpy(), "side": list(sides), "split": name})


def random_split(questions: pd.DataFrame, share: float = 0.5, seed: int = 0) -> pd.DataFrame:
    """``share`` of the questions to test, by lot: dataset, qid, side, split."""
    ordered = questions.sort_values(QUESTION)
    lot = np.random.default_rng(seed).permutation(len(ordered))
    return _table(ordered, [TEST if at < round(share * len(ordered)) else TRAIN for at in lot], "random")


def temporal_split(questions: pd.DataFrame, day: str) -> pd.DataFrame:
    """Asked before ``day``: train; on it or after: test; without a day (``asked_on``): neither."""
    ordered = questions.sort_values(QUESTION)
    return _table(ordered, [NEITHER if not isinstance(d, str) else TEST if d >= day else TRAIN for d in ordered["asked_on"]], "temporal")


def source_split(questions: pd.DataFrame, evidence: pd.DataFrame, source_of: Mapping[str, str], held_out: Collection[str]) -> pd.DataFrame:
    """Questions whose evidence is all of the sources ``held_out``: test; none of it: train; some of both: neither, and so without evidence."""
    return _table(*_by_evidence(questions, evidence, {doc: TEST if source in held_out else TRAIN for doc, source in source_of.items()}), "source held out")


def family_split(questions: pd.DataFrame, evidence: pd.DataFrame, group_of: Mapping[str, str], share: float = 0.5, seed: int = 0) -> pd.DataFrame:
    """Whole groups (versions and near-duplicates, `groups`) to one side, in random order, those to test that bring its part nearer to ``share``.

    A question whose evidence lies in groups of both sides is on neither: keeping it would leak.
    """
    named = evidence.assign(group=evidence["doc_id"].map(group_of))
    sizes = named.drop_duplicates([*QUESTION, "group"]).groupby("group").size()
    order = np.random.default_rng(seed).permutation(sorted(sizes.index))
    target, tested, n = share * sizes.sum(), set(), 0
    for group in order:
        if abs(n + sizes[group] - target) < abs(n - target):  # a group too large to come nearer stays in training
            tested.add(group)
            n += sizes[group]
    return _table(*_by_evidence(questions, evidence, {doc: TEST if group in tested else TRAIN for doc, group in group_of.items()}), "version family")


def _by_evidence(questions: pd.DataFrame, evidence: pd.DataFrame, side_of: Mapping[str, str]) -> tuple[pd.DataFrame, list[str]]:
    if unknown := sorted(set(evidence["doc_id"]) - set(side_of)):
        raise ValueError(f"{len(unknown)} passages of evidence, such as {unknown[0]!r}, have no source or group; give every passage one")
    ordered = questions.sort_values(QUESTION)
    held = {key: {side_of[d] for d in docs} for key, docs in evidence.groupby(QUESTION)["doc_id"]}
    sides = (held.get(key, set()) for key in ordered[QUESTION].itertuples(index=False, name=None))
    return ordered, [next(iter(s)) if len(s) == 1 else NEITHER for s in sides]


def leaks(split: pd.DataFrame, evidence: pd.DataFrame, families: Mapping[str, str], pairs: Mapping[tuple[str, str], float]) -> pd.DataFrame:
    """Every way in which a test question's evidence is known from training: ``LEAKS``, a row a test passage, kind and train passage (its first question).

    A pair is named by its strongest kind: the same passage, then near-duplicate, then family.
    """
    sided = evidence.merge(split[[*QUESTION, "side"]], on=QUESTION)
    alike = {**pairs, **{(b, a): v for (a, b), v in pairs.items()}}
    rows = []
    for dataset, part in sided.groupby("dataset"):
        train = part[part["side"] == TRAIN].sort_values("qid").drop_duplicates("doc_id")
        for qid, doc in part.loc[part["side"] == TEST, ["qid", "doc_id"]].drop_duplicates().sort_values(["qid", "doc_id"]).itertuples(index=False):
            for train_qid, other in train[["qid", "doc_id"]].itertuples(index=False):
                kind = (
                    KINDS[0]
                    if doc == other
                    else KINDS[1]
                    if (doc, other) in alike
                    else KINDS[2]
                    if families.get(doc, doc) == families.get(other, other)
                    else None
                )
                if kind:
                    rows.append((dataset, qid, doc, kind, train_qid, other, 1.0 if doc == other else alike.get((doc, other), np.nan)))
    return pd.DataFrame(rows, columns=LEAKS)


def split_table(
    splits: Sequence[pd.DataFrame], evidence: pd.DataFrame, families: Mapping[str, str], pairs: Mapping[tuple[str, str], float], tier: str
) -> pd.DataFrame:
    """The table judgement_splits: per split and kind of leak (and ``any``) how many test questions it touches, with an exact interval on their share."""
    rows = []
    for split in splits:
        found = leaks(split, evidence, families, pairs)
        for dataset, part in split.groupby("dataset"):
            counts, tested = part["side"].value_counts(), part.loc[part["side"] == TEST, "qid"]
            mine = found[found["dataset"] == dataset]
            for kind in (*KINDS, "any"):
                of = mine if kind == "any" else mine[mine["kind"] == kind]
                touched = set(of["qid"])
                i = exact_share([float(q in touched) for q in tested], list(tested))
                rows.append(
                    (tier, dataset, split["split"].iloc[0], kind, *(int(counts.get(s, 0)) for s in (TRAIN, TEST, NEITHER)), len(of), len(touched), *i[:3])
                )
    columns = ["tier", "dataset", "split", "kind", TRAIN, TEST, NEITHER, "leaks", "touched", "estimate", "ci_low", "ci_high"]
    return pd.DataFrame(rows, columns=columns)
