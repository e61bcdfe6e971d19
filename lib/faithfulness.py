"""Do answers rest on the context? The same contexts read without the answer's snippets, without as many others, and closed book (SPEC 7; 000, limitations).

Rows are contexts that hold the answer (table ablations), paired by question. Quantities, per reader and policy, ``pooled`` over policies:
``f1_with``, ``f1_without``, ``f1_other``, ``f1_closed``   mean F1 with the whole context, without the answer's snippets, without as many others, without any
``f1_falls``, ``f1_falls_other``, ``f1_falls_more``   whole minus without the answer's; whole minus without others; the first minus the second, where
                        there are others to remove
``em_*``                the same by exact match
``turns_wrong``, ``turns_wrong_other``   of the answers exactly right with the whole context, the share no longer right: these rest on what was removed
``stays_right``         the rest: memory, guessing, or another wording of the answer that the context still holds
``stays_right_closed``  of those that stay right, the share right closed book too: memory or guessing
``changes``, ``changes_other``   share of answers whose normalised text differs; missing where only scores are kept
``log_p_falls``, ``log_p_falls_other``, ``log_p_falls_more``   the same of the answer's log-probability a token with the context, by the same reader (table
                        support, form ``context``); a context left empty has none
``rests``               share of contexts where the answer's snippets matter to the reader: without them the answer is less than half as probable, a token,
                        as without as many others (or as with the whole context, where there are no others)

The faithfulness-aware answer-in-context is 1 where the context holds the answer and the reader rests on it in the sense of ``rests``. F1 itself must not
decide that: "F1 falls" presupposes F1 above 0, so it would predict F1 by construction. Correlations with F1 over policy x question rows with a span, the
same rows for all: ``r_aic`` (plain), ``r_faithful`` (log-probabilities of the same reader), ``r_faithful_minus_aic``, and ``r_faithful_other`` and
``r_faithful_other_minus_aic`` (log-probabilities of another reader, the stricter test, where there is one).
"""
from __future__ import annotations

import math

import numpy as np
import pandas as pd

from lib import bootstrap, diagnostics, moments, scorers
from lib.bootstrap import Interval, cluster_codes, percentile_interval
from lib.text import normalise_answer

READER = ["reader", "precision"]
COLUMNS = ["tier", "dataset", *READER, "policy", "quantity", "estimate", "ci_low", "ci_high", "n", "clusters"]
ARMS = ("with", "without", "other", "closed")
HALF = math.log(2)  # by the sign of a difference alone, noise would pass for reading half of the time
ASKED = ["dataset", "qid", "context_hash"]


def faithfulness(outcomes: pd.DataFrame, answers: pd.DataFrame, ablations: pd.DataFrame, supported: pd.DataFrame, tier: str, resamples: int = 10_000,
                 seed: int = 0) -> pd.DataFrame:
    """The faithfulness table; no row where nothing was ablated. Raises ValueError for an ablated context that some reader did not answer."""
    if ablations.empty:
        return pd.DataFrame(columns=COLUMNS)
    rows = paired(answers, ablations, supported)
    made = []
    for (dataset, *reader), group in rows.groupby(["dataset", *READER]):
        for policy, part in [("pooled", group), *group.groupby("policy")]:
            made += [(tier, dataset, *reader, policy, q, *_shown(i)) for q, i in quantities(part, resamples, seed).items() if i.n]
        related = _correlations(outcomes, rows, dataset, tuple(reader), resamples, seed)
        made += [(tier, dataset, *reader, "pooled", q, *_shown(i)) for q, i in related.items() if i.n]
    return pd.DataFrame(made, columns=COLUMNS)


def by_kind(outcomes: pd.DataFrame, answers: pd.DataFrame, ablations: pd.DataFrame, supported: pd.DataFrame, reader: str) -> pd.DataFrame:
    """Of the answers of ``reader`` that are exactly right with the whole context, how many stay right without the answer's snippets, by kind of question.

    Columns: dataset, question_type, right, stay_right, stay_right_other (without as many other snippets, where there are others).
    """
    columns = ["dataset", "question_type", "right", "stay_right", "stay_right_other"]
    if ablations.empty:
        return pd.DataFrame(columns=columns)
    rows = paired(answers[answers["reader"] == reader], ablations, supported)
    rows = rows.merge(outcomes[["dataset", "qid", "question_type"]].drop_duplicates(), on=["dataset", "qid"])
    right = rows[rows["em_with"] == 1]
    counted = right.assign(right=1, stay_right=right["em_without"], stay_right_other=right["em_other"])
    return counted.groupby(["dataset", "question_type"])[columns[2:]].sum().astype(int).reset_index()


def _shown(i: Interval) -> tuple:
    return i.estimate, i.low, i.high, i.n, i.clusters


def paired(answers: pd.DataFrame, ablations: pd.DataFrame, supported: pd.DataFrame) -> pd.DataFrame:
    """One row an ablated context and reader: em_*, f1_*, said_* and log_p_* of the four arms; missing where an arm has none.

    Raises ValueError where a reader has not answered.
    """
    one = ablations[[*diagnostics.PACK_KEY, "context_hash"]].drop_duplicates()
    hashes = ablations.pivot(index=diagnostics.PACK_KEY, columns="removed", values="ablated_hash").reindex(columns=["answer", "other"]).astype(object).reset_index()
    one = one.merge(hashes, on=diagnostics.PACK_KEY).rename(columns={"context_hash": "with", "answer": "without"}).assign(closed="closed_book")
    out = one.merge(answers[["dataset", *READER]].drop_duplicates(), on="dataset")
    said = [normalise_answer(p) if isinstance(p, str) else None for p in answers["prediction"]]
    scored = answers.assign(said=pd.Series(said, index=answers.index, dtype=object))
    log_p = supported.rename(columns={"score": "log_p"})[[*ASKED, "scorer", "log_p"]].astype({"scorer": object})
    named = ["" if p == "served" else scorers.scorer_name({"reader": r, "precision": p, "form": "context"}) for r, p in zip(out["reader"], out["precision"])]
    out["scorer"] = pd.Series(named, index=out.index, dtype=object)
    for arm in ARMS:
        values = ["em", "f1", "said"]
        part = scored[[*ASKED, *READER, *values]].rename(columns={"context_hash": arm} | {v: f"{v}_{arm}" for v in values})
        out = out.merge(part, on=["dataset", "qid", *READER, arm], how="left")
        out = out.merge(log_p.rename(columns={"context_hash": arm, "log_p": f"log_p_{arm}"}), on=["dataset", "qid", "scorer", arm], how="left")
        if (silent := out[arm].notna() & out[f"em_{arm}"].isna()).any():
            row = out[silent].iloc[0]
            raise ValueError(f"question {row.qid} ({row.dataset}), policy {row.policy}: reader {row.reader} has no answer for the context {arm!r} "
                             f"({str(row[arm])[:12]}); rerun notebook 03")
    return out.sort_values([*diagnostics.PACK_KEY, *READER], ignore_index=True)


def quantities(rows: pd.DataFrame, resamples: int = 10_000, seed: int = 0) -> dict[str, Interval]:
    """Every quantity but the correlations, for one reader's rows of ``paired``; one draw of questions serves all."""
    number = {f"{m}_{arm}": rows[f"{m}_{arm}"].astype("float64").to_numpy() for m in ("f1", "em", "log_p") for arm in ARMS}
    columns = {k: v for k, v in number.items() if not k.startswith("log_p")}
    for m in ("f1", "em", "log_p"):
        columns[f"{m}_falls"] = number[f"{m}_with"] - number[f"{m}_without"]
        columns[f"{m}_falls_other"] = number[f"{m}_with"] - number[f"{m}_other"]
        columns[f"{m}_falls_more"] = number[f"{m}_other"] - number[f"{m}_without"]
    right = number["em_with"] == 1
    columns["turns_wrong"] = _where(right, number["em_without"], lambda v: v < 1)
    columns["turns_wrong_other"] = _where(right, number["em_other"], lambda v: v < 1)
    columns["stays_right"] = 1 - columns["turns_wrong"]
    columns["stays_right_closed"] = _where(right & (number["em_without"] == 1), number["em_closed"], lambda v: v == 1)
    for name, arm in (("changes", "without"), ("changes_other", "other")):
        known = (rows["said_with"].notna() & rows[f"said_{arm}"].notna()).to_numpy(bool)
        columns[name] = np.where(known, rows["said_with"].to_numpy(object) != rows[f"said_{arm}"].to_numpy(object), np.nan)
    columns["rests"] = rests(rows)
    matrix = np.column_stack(list(columns.values()))
    sample, drawn = bootstrap.column_means(matrix, rows["qid"], resamples, seed)
    codes = cluster_codes(rows["qid"], len(rows))
    return {name: percentile_interval(float(sample[0, j]), drawn[:, j], codes[~np.isnan(matrix[:, j])], tested=False) for j, name in enumerate(columns)}


def _where(kept: np.ndarray, values: np.ndarray, test) -> np.ndarray:
    return np.where(kept & ~np.isnan(values), test(values), np.nan).astype(float)


def rests(rows: pd.DataFrame) -> np.ndarray:
    """1 where taking out the answer's snippets, rather than as many others, more than halves its probability a token; 0 where not, NaN unknown."""
    fall = (rows["log_p_with"] - rows["log_p_without"]).to_numpy(float)
    bar = (rows["log_p_with"] - rows["log_p_other"]).where(rows["other"].notna(), 0).to_numpy(float)
    return np.where(np.isnan(fall) | np.isnan(bar), np.nan, fall - bar > HALF)


def _correlations(outcomes: pd.DataFrame, rows: pd.DataFrame, dataset: str, reader: tuple[str, str], resamples: int, seed: int) -> dict[str, Interval]:
    """Plain and faithfulness-aware answer-in-context against one reader's F1, over the policies that were ablated."""
    read = outcomes[(outcomes["dataset"] == dataset) & (outcomes["reader"] == reader[0]) & (outcomes["precision"] == reader[1]) & outcomes["f1"].notna()]
    read = read[read["policy"].isin(rows["policy"]) & read["answer_defined"].astype(bool)].sort_values(diagnostics.PACK_KEY)
    here = rows[rows["dataset"] == dataset]
    told = here[here["log_p_with"].notna() & here["log_p_without"].notna()]
    told = {name: part for name, part in here.groupby(READER) if name in set(zip(told["reader"], told["precision"]))}
    judges = [("faithful", reader), *(("faithful_other", name) for name in sorted(set(told) - {reader})[:1])]
    blocks = {name: _known(read, told[judge]) for name, judge in judges if judge in told}
    if not blocks:
        return {}
    plain, f1 = read["answer_in_context"].to_numpy(float), read["f1"].to_numpy(float)
    codes, out = cluster_codes(read["qid"], len(read)), {}
    columns = [moments.scaled(np.column_stack([plain, b, f1])) for b in blocks.values()]
    for (name, block), both in zip(zip(blocks, columns), moments.covariances(columns, read["qid"], resamples, seed)):
        known = codes[~np.isnan(block).any(axis=1)]
        r = {i: [moments.correlation(c, i, 2) for c in both] for i in (0, 1)}
        made = {"r_aic": r[0], f"r_{name}": r[1], f"r_{name}_minus_aic": [a - b for a, b in zip(r[1], r[0])]}
        out |= {q: percentile_interval(float(one[0]), many, known, tested=False) for q, (one, many) in made.items() if q not in out}
    return out


def _known(read: pd.DataFrame, rows: pd.DataFrame) -> np.ndarray:
    """Faithfulness-aware answer-in-context of each row of ``read``: 0 where the context lacks the answer, ``rests`` where it holds it, NaN unknown."""
    judged = rows.assign(faithful=rests(rows))[[*diagnostics.PACK_KEY, "faithful"]]
    found = read[diagnostics.PACK_KEY].merge(judged, on=diagnostics.PACK_KEY, how="left")["faithful"].to_numpy(float)
    return np.where(read["answer_in_context"].to_numpy(float) == 1, found, 0.0)


