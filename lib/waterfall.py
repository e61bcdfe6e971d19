"""The waterfall: at which stage answers are lost, for any packer, budget and slice of the questions (SPEC 7; document 000, section 3).

Nested indicators over questions with a defined answer: in the corpus >= in the pool >= in the packed context >= there and read correctly.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from lib.bootstrap import cluster_codes, column_means, percentile_interval

ARM = ["dataset", "pack_id", "policy", "budget", "reader", "precision"]
STAGES = ("corpus", "pool", "context", "read")
BEFORE = {"corpus": "everything", "pool": "corpus", "context": "pool", "read_em": "context", "read_f1": "context"}
OUTCOMES = ("em", "f1")
BATCH = 12  # arms resampled at once: more take more memory and no less time
UNPACKED = ("closed_book", "gold")  # these two do not pack the retrieved pool, so they have no chain
FALL = ["tier", "dataset", "slice", *ARM[1:], "outcome", "stage", "order", "share", "lost", "ci_low", "ci_high", "lost_low", "lost_high", "n", "undefined"]
BESIDE = ["tier", "dataset", "slice", *ARM[1:], "outcome", "mark", "estimate", "ci_low", "ci_high", "n", "clusters", "undefined"]


def nested(outcomes: pd.DataFrame) -> pd.DataFrame:
    """The rows with a defined answer, and beside them corpus, pool, context (0 or 1, each the product of those before).

    Of read rows also read_em and read_f1 (the score where the answer stood in the context, else 0) and without_em, without_f1 (the score
    where it did not, else 0): the two add up to the score.

    >>> row = {"answer_defined": True, "answer_in_corpus": 1, "answer_in_pool": 1, "answer_in_context": 0, "em": 1.0, "f1": 1.0}
    >>> nested(pd.DataFrame([row]))[["pool", "context", "read_em", "without_em"]].iloc[0].tolist()
    [1.0, 0.0, 0.0, 1.0]
    """
    rows = outcomes[outcomes["answer_defined"].astype(bool)]
    corpus = rows["answer_in_corpus"].astype(float)
    pool = corpus * rows["answer_in_pool"].astype(float)
    context = pool * rows["answer_in_context"].astype(float)
    scores = {o: rows[o].astype(float) for o in OUTCOMES if o in rows}
    read = {f"read_{o}": context * s for o, s in scores.items()} | {f"without_{o}": (1 - context) * s for o, s in scores.items()}
    return rows.assign(corpus=corpus, pool=pool, context=context, **read)


def slices(rows: pd.DataFrame, by: Sequence[str]) -> dict[str, np.ndarray]:
    """Which rows are in each slice: ``all``, then a slice a value of each column of ``by``; a missing value makes a slice of its own.

    Raises ValueError for a column that is not there.

    >>> {k: v.sum() for k, v in slices(pd.DataFrame({"n_hops": [2, 3, 2]}), ["n_hops"]).items()}
    {'all': np.int64(3), 'n_hops=2': np.int64(2), 'n_hops=3': np.int64(1)}
    """
    absent = [by] if isinstance(by, str) else [c for c in by if c not in rows]
    if absent:
        raise ValueError(f"by must be a list of columns that group questions, got {by!r}; {absent[0]!r} is none of {list(rows)}"
                         + (f"; write [{by!r}]" if isinstance(by, str) else ""))
    found = {"all": np.ones(len(rows), dtype=bool)}
    for column in by:
        named = rows[column].map(_plain).to_numpy()
        found |= {f"{column}={value}": named == value for value in sorted(set(named))}
    return found


def _plain(value) -> str:
    """A value as slices name it: 2.0, which pandas makes of 2 beside a missing value, is 2."""
    if pd.isna(value):
        return "missing"
    return str(int(value)) if isinstance(value, (float, np.floating)) and float(value).is_integer() else str(value)


def waterfall(outcomes: pd.DataFrame, tier: str, by: Sequence[str] = ("question_type",), resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Table ``waterfall``: ``share`` alive after each stage and ``lost`` there, of every arm that was read, in all and in each slice of ``by``.

    ``outcome`` em: the last stage asks for the exact answer; f1: it keeps the F1 of the answers that stood in the context. Losses add up to
    1 - the last share, each with its interval; one draw of questions serves all slices and stages. A slice without a defined answer keeps
    its rows (n 0). The arms in UNPACKED are left out. Raises ValueError for a column of ``by`` that is not there.
    """
    read = outcomes[outcomes["em"].notna() & ~outcomes["policy"].isin(UNPACKED)]
    return _falls(read, {o: ("corpus", "pool", "context", f"read_{o}") for o in OUTCOMES}, tier, by, resamples, seed)


def without_reader(outcomes: pd.DataFrame, tier: str, by: Sequence[str] = (), resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The waterfall as far as the packed context, of every packer and budget and over all questions, whether a model read them or not.

    Reader, precision and outcome are ``none``. No answer was needed, so the oracle, which chooses by answers, is left out.
    """
    packed = outcomes[~outcomes["policy"].isin([*UNPACKED, "oracle"])].drop_duplicates(["dataset", "qid", "pack_id", "policy", "budget"])
    return _falls(packed.assign(reader="none", precision="none"), {"none": ("corpus", "pool", "context")}, tier, by, resamples, seed)


def marks(outcomes: pd.DataFrame, tier: str, by: Sequence[str] = ("question_type",), resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Table ``waterfall_marks``: what stands beside the chain of each arm that was read, over the same questions.

    ``first_stage_order``: share of answers that documents in rank order, cut at the same budget (policy ``topk``), would have kept: where the
    packer keeps more, packing and not the ranking did it. Missing where topk was not packed. ``right_without_answer``: mean EM (or F1) earned
    where the answer did not stand in the context, paraphrased, guessed or remembered. It and the last share add up to the mean EM (or F1).
    """
    key = ["dataset", "qid", "pack_id", "budget"]
    ranked = nested(outcomes[outcomes["policy"] == "topk"]).drop_duplicates(key).set_index(key)["context"].rename("first_stage_order")
    read, out = outcomes[outcomes["em"].notna() & ~outcomes["policy"].isin(UNPACKED)].join(ranked, on=key), []
    for arm, part, undefined, found, _ in _measured(read, ["first_stage_order", *(f"without_{o}" for o in OUTCOMES)], by, resamples, seed):
        for outcome in OUTCOMES:
            for mark, i in (("first_stage_order", found["first_stage_order"]), ("right_without_answer", found[f"without_{outcome}"])):
                out.append((tier, arm[0], part, *arm[1:], outcome, mark, i.estimate, i.low, i.high, i.n, i.clusters, undefined))
    return pd.DataFrame(out, columns=BESIDE)


def _falls(rows: pd.DataFrame, chains: dict[str, Sequence[str]], tier: str, by: Sequence[str], resamples: int, seed: int) -> pd.DataFrame:
    """A chain an arm, slice and outcome; ``chains`` names the columns of each outcome's stages."""
    names, out = list(dict.fromkeys(name for chain in chains.values() for name in chain)), []
    for arm, part, undefined, share, lost in _measured(rows, names, by, resamples, seed):
        for outcome, chain in chains.items():
            for order, (stage, name) in enumerate(zip(STAGES, chain), 1):
                i, fell = share[name], lost[name]
                out.append((tier, arm[0], part, *arm[1:], outcome, stage, order, i.estimate, fell.estimate, i.low, i.high, fell.low, fell.high, i.n, undefined))
    return pd.DataFrame(out, columns=FALL)


def _measured(rows: pd.DataFrame, names: list[str], by: Sequence[str], resamples: int, seed: int) -> Iterator[tuple]:
    """Arm, slice, its undefined questions, and by name the mean of each column and its fall from the stage before, with intervals.

    Arms over the same questions are resampled together, which changes no number (a draw depends on the seed and the questions alone) and
    saves the draws, which cost most.
    """
    slices(rows, by)  # refuse a wrong column even where there is no arm
    together: dict[tuple, list] = {}
    for arm, group in rows.groupby(ARM):
        alive = nested(group).sort_values("qid")
        inside, everywhere = slices(alive, by), slices(group, by)
        masks = {part: inside.get(part, np.zeros(len(alive), dtype=bool)) for part in everywhere}
        undefined = {part: int(there.sum() - masks[part].sum()) for part, there in everywhere.items()}
        together.setdefault((arm[0], *alive["qid"]), []).append((arm, alive[names].to_numpy(float), masks, undefined))
    for (_, *qids), arms in together.items():
        for start in range(0, len(arms), BATCH):
            yield from _resampled(arms[start:start + BATCH], qids, names, resamples, seed)


def _resampled(arms: list[tuple], qids: list[str], names: list[str], resamples: int, seed: int) -> Iterator[tuple]:
    """`_measured` for arms over the same questions, in one draw."""
    cells = [(arm, part, undefined[part], np.where(mask[:, None], values, np.nan)) for arm, values, masks, undefined in arms for part, mask in masks.items()]
    codes = cluster_codes(qids, len(qids)) if qids else np.zeros(0, dtype=int)
    matrix = np.hstack([values for *_, values in cells])
    means, draws = column_means(matrix, qids, resamples, seed) if qids else (np.full((1, matrix.shape[1]), np.nan),) * 2
    for k, (arm, part, undefined, values) in enumerate(cells):
        here = slice(k * len(names), (k + 1) * len(names))
        mean, drawn, share, lost = dict(zip(names, means[0, here])), dict(zip(names, draws[:, here].T)), {}, {}
        for name, value in zip(names, values.T):
            known, before = codes[~np.isnan(value)], BEFORE.get(name, name)
            share[name] = percentile_interval(mean[name], drawn[name], known, tested=False)
            lost[name] = percentile_interval(mean.get(before, 1.0) - mean[name], drawn.get(before, 1.0) - drawn[name], known, tested=False)
        yield arm, part, undefined, share, lost
