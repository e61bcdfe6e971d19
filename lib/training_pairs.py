"""What a cross-encoder is taught: seeded (text, text, label) pairs from the questions of training files (SPEC 11).

Two targets. ``rerank``: does this passage belong to the evidence of this question? ``support``: does this text support this answer to this
question? Choices follow sha256(seed, ids), so that neither the order of rows nor a library's random numbers change a pair.
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from lib import survival
from lib.retrieval import passage
from lib.training_answers import forms, holds, rival_spans, wrong_answers

Tables = Mapping[str, pd.DataFrame]  # questions, gold, documents, pools, as lib.datasets.load returns them
LABELS = ("passage", "answer")
HELD_OUT = 4  # one training question in four is kept for measuring


class Asked(NamedTuple):
    """A training question with its passages: ids of its own paragraphs, of those that are gold, of gold that holds an answer."""

    dataset: str
    qid: str
    question: str
    answers: list[str]
    question_type: str
    own: list[str]
    gold: list[str]
    holders: list[str]


def support_query(question: str, answer: str) -> str:
    """The first text of a ``support`` pair: question, one space, answer; empty where either is.

    >>> support_query("Who painted  eels?", " Edda Sorrel ")
    'Who painted eels? Edda Sorrel'
    """
    parts = [" ".join(part.split()) if isinstance(part, str) else "" for part in (question, answer)]
    return " ".join(parts) if all(parts) else ""


def held_out(questions: pd.DataFrame, one_in: int = HELD_OUT) -> pd.Series:
    """True for the questions kept for measuring: sha256("held-out:" + qid) mod ``one_in`` is 0; rows that ask the same go together."""
    key = questions["question"].map(_folded)
    first = questions["qid"].astype(str).groupby(key).transform("min")
    return first.map(lambda qid: int(digest("held-out", qid), 16) % one_in == 0).astype(bool)


def refuse_leaks(training: pd.DataFrame, evaluation: pd.DataFrame) -> None:
    """Raise ValueError when a training question, by id or by its words, is asked in an evaluation set, too."""
    for column, same in (("qid", str), ("question", _folded)):
        shared = set(training[column].map(same)) & set(evaluation[column].map(same))
        if shared:
            at = evaluation[evaluation[column].map(same).isin(shared)].iloc[0]
            raise ValueError(f"{len(shared)} training questions are evaluation questions by {column}, first {at['qid']!r} of {at['dataset']}: "
                             "scores there would be learned by heart; take them out of the training files")


def select(tables: Tables, rows: pd.Series) -> dict[str, pd.DataFrame]:
    """The tables of some questions only (``rows``: a mask of the questions table); the corpus stays whole."""
    kept = tables["questions"][rows.to_numpy(bool)]
    keys = pd.MultiIndex.from_frame(kept[["dataset", "qid"]])
    own = {k: tables[k][pd.MultiIndex.from_frame(tables[k][["dataset", "qid"]]).isin(keys)] for k in ("gold", "pools")}
    return {**tables, **own, "questions": kept}


def asked_of(tables: Tables) -> list[Asked]:
    """One ``Asked`` a question, by id; gold passages that the documents table lacks are left out."""
    texts = _texts(tables["documents"])
    own, gold = (tables[k].groupby(["dataset", "qid"])["doc_id"].agg(list).to_dict() for k in ("pools", "gold"))
    made = []
    for q in tables["questions"].sort_values(["dataset", "qid"]).itertuples():
        known = [d for d in sorted(gold.get((q.dataset, q.qid), [])) if (q.dataset, d) in texts]
        holders = [d for d in known if survival.answer_in_context(q.answers, [texts[q.dataset, d].text], q.question_type).value]
        made.append(Asked(q.dataset, q.qid, q.question, list(q.answers), q.question_type, sorted(own.get((q.dataset, q.qid), [])), known, holders))
    return made


def rerank_pairs(tables: Tables, label: str = "passage", own: int = 2, easy: int = 1, seed: int = 0) -> pd.DataFrame:
    """Pairs (question, passage): text_a, text_b, label (1 or 0), dataset, qid, kind (gold, own, easy).

    label "passage": every gold passage is a positive; "answer": only gold that holds an accepted answer, so that bridges become negatives
    and yes/no questions drop out. For each positive ``own`` of the question's other paragraphs (near-duplicates of topic and words) and
    ``easy`` paragraphs of other questions of the data set, while there are any. Raises ValueError for an unknown label or counts below 0.
    """
    if label not in LABELS:
        raise ValueError(f"label must be one of {', '.join(LABELS)}, got {label!r}")
    check_counts(own=own, easy=easy)
    texts, corpus = _texts(tables["documents"]), corpora(tables)
    rows = []
    for q in asked_of(tables):
        positives = q.gold if label == "passage" else q.holders
        near = draw([d for d in q.own if d not in positives], own * len(positives), seed, "own", q.qid)
        far = unrelated(corpus[q.dataset], {*q.own, *q.gold}, easy * len(positives), seed, q.qid)
        for kind, ids in (("gold", positives), ("own", near), ("easy", far)):
            rows += [(q.question, passage(texts[q.dataset, d].title, texts[q.dataset, d].text), int(kind == "gold"), q.dataset, q.qid, kind) for d in ids]
    return pairs_frame(rows)


def support_pairs(tables: Tables, own: int = 4, wrong_answer: int = 1, in_passage: int = 1, seed: int = 0) -> pd.DataFrame:
    """Pairs (question + answer, text): text_a, text_b, label (1 or 0), dataset, qid, kind (gold, own, wrong_answer, in_passage).

    Positives are gold passages that hold an accepted answer, each in two forms: whole with its title, and cut to a few sentences without it,
    as a packer shows them. Negatives: ``own`` of the question's other paragraphs a positive passage, in one of the forms; each form of a
    positive under ``wrong_answer`` answers of other questions of its type, and under ``in_passage`` other names, dates or numbers that it
    holds, so that neither the topic nor a string that stands there is enough. No pairs: questions without a span (yes/no, free-form), and
    those whose answer stands in the question (which of the two ...?), as no single passage supports it.
    """
    check_counts(own=own, wrong_answer=wrong_answer, in_passage=in_passage)
    texts, everyone = _texts(tables["documents"]), asked_of(tables)
    by_type: dict[tuple[str, str], list[Asked]] = {}
    for q in everyone:
        by_type.setdefault((q.dataset, q.question_type), []).append(q)
    rows = []
    for q in (q for q in everyone if q.holders and not any(holds(a, q.question) for a in q.answers)):
        near = draw([d for d in q.own if d not in q.holders], own * len(q.holders), seed, "own", q.qid)
        told = [(q.answers[0], draw(_forms(texts[q.dataset, d], [], seed, q.qid), 1, seed, "form", q.qid, d)[0], "own") for d in near]
        others = [o.answers[0] for o in by_type[q.dataset, q.question_type] if o.qid != q.qid]
        for text in (text for d in q.holders for text in _forms(texts[q.dataset, d], q.answers, seed, q.qid)):
            right = [a for a in q.answers if holds(a, text)]
            wrong = draw(wrong_answers([right[0], *q.answers], others, text), wrong_answer, seed, "wrong", q.qid, text)
            rivals = draw(rival_spans(q.question, [right[0], *q.answers], text), in_passage, seed, "rival", q.qid, text)
            told += [(right[0], text, "gold"), *((a, text, "wrong_answer") for a in wrong), *((a, text, "in_passage") for a in rivals)]
        rows += [(support_query(q.question, answer), text, int(kind == "gold"), q.dataset, q.qid, kind) for answer, text, kind in told]
    return pairs_frame(rows)


def _forms(document: NamedTuple, answers: Sequence[str], seed: int, qid: str) -> list[str]:
    whole, cut = forms(document, answers)
    return [whole, *draw(cut, 1, seed, "cut", qid, document.doc_id)]


def _texts(documents: pd.DataFrame) -> dict[tuple[str, str], NamedTuple]:
    return {(d.dataset, d.doc_id): d for d in documents.itertuples(index=False)}


def corpora(tables: Tables) -> dict[str, list[str]]:
    """Each data set's passages that are somebody's own paragraph, by id."""
    return {dataset: sorted(set(ids)) for dataset, ids in tables["pools"].groupby("dataset")["doc_id"]}


def unrelated(ids: Sequence[str], near: set[str], n: int, seed: int, qid: str) -> list[str]:
    """Up to ``n`` of the ids that are not ``near``, as the seed and the question choose them."""
    # sorting the whole corpus by hash for each question would be slow: a few times as many places as needed are tried instead
    tried = (ids[int(digest(seed, "easy", qid, i), 16) % len(ids)] for i in range(20 * n if ids else 0))
    return list(dict.fromkeys(d for d in tried if d not in near))[:n]


def draw(items: Sequence[str], n: int, *words: object) -> list[str]:
    """``n`` of the items without replacement (all, where there are fewer), in the order of their hashes."""
    return sorted(items, key=lambda item: digest(*words, item))[:n]


def digest(*words: object) -> str:
    """What every choice here follows: sha256 of the words, in hex."""
    return hashlib.sha256(":".join(map(str, words)).encode()).hexdigest()


def _folded(text: str) -> str:
    return " ".join(str(text).casefold().split())


def check_counts(**counts: int) -> None:
    """Raise ValueError unless each named count is a whole number of 0 or more."""
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError(f"{name} must be a whole number of 0 or more, got {value!r}")


def pairs_frame(rows: list[tuple]) -> pd.DataFrame:
    """Rows (text_a, text_b, label, dataset, qid, kind) as a table of pairs, the same two texts once."""
    made = pd.DataFrame(rows, columns=["text_a", "text_b", "label", "dataset", "qid", "kind"])
    return made.drop_duplicates(["text_a", "text_b"], ignore_index=True)


TARGETS: dict[str, Callable[..., pd.DataFrame]] = {"rerank": rerank_pairs, "support": support_pairs}
