"""The reader ladder: the same contexts past readers of several sizes and number formats (SPEC 9; document 000, section 6.5 and Tables 5, 8, 9).

The table ``ladder`` holds one number a row, of one rung (``reader``, ``precision``) and ``kind``:
``score``      mean of a quantity under one policy, closed book, or ``pooled`` over the packers
``contrast``   policy - control on F1 and EM
``context``    before any reader (``reader`` none), over the same questions: mean and policy - control of answer_in_context (defined) and gold_coverage
``best``       ``lead``: the policy with the highest F1 minus the next one, separated or not; ``best_share``: how often it is the highest over resamples
``precision``  this rung minus the same model in a finer number format (``against``): what quantisation changes
``scale``      this rung minus a smaller one (``against``), of number formats as alike as can be: what size changes
``trend``      change of a contrast a doubling of parameters, over one rung a model (``reader`` "all rungs")
``claim``      ``absorption`` and ``reversal``: the edge of the largest rung minus that of the smallest, with the verdict on what document 000 says of it
Quantities: f1, em; words, answer_precision, answer_recall, abstains (`lib.ladder_forms`); cut_off (share of answers that use up the allowance of new tokens);
f1_with and f1_without (answer in the context or not, where that is defined), f1_gap (their difference); same_answer (share of equal answers).
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import diagnostics, ladder_between, ladder_rungs, stats
from lib.ladder_cells import METRICS, Drawn, apart_cell, difference_cell, draw, mean_cell, row
from lib.tables import TABLES

MEASURES = ("f1", "em", "words", "answer_precision", "answer_recall", "abstains", "cut_off")
RUNG = ["reader", "precision"]
LEVEL = 0.05  # of the lead of a best policy
PAIRS = (("submod", "focused"), ("submod", "naive"), ("focused", "naive"), ("tuned", "submod"), ("tuned", "focused"))


def joined(questions: pd.DataFrame, asked: pd.DataFrame, answers: pd.DataFrame, survived: pd.DataFrame, limit: int = 16) -> pd.DataFrame:
    """One row a question, policy and rung: what survived, how it was answered, and in what form; closed book included.

    ``answers`` with the columns of `ladder_forms.with_forms`; ``limit`` is the reader's allowance of new tokens. Raises ValueError where a rung lacks an
    answer, all of them, or gave two to one context.
    """
    if answers.empty and len(asked):
        raise ValueError(f"no rung answered any of {len(asked)} contexts; run the cell that reads again")
    kept = pd.concat([survived, diagnostics.closed_book_rows(questions)], ignore_index=True)
    rows = asked[[*diagnostics.PACK_KEY, "context_hash"]].merge(kept, on=diagnostics.PACK_KEY, how="left", validate="one_to_one")
    rows = rows.merge(questions[["dataset", "qid", "half", "question_type"]], on=["dataset", "qid"], validate="many_to_one")
    out = rows.merge(answers.drop(columns=["reader_id"]), on=["dataset", "qid", "context_hash"])
    counts = out.groupby(RUNG).size().reindex(pd.MultiIndex.from_frame(answers[RUNG].drop_duplicates()), fill_value=0)
    if len(counts) and counts.max() > len(asked):
        raise ValueError(f"rung {' '.join(counts.idxmax())} has {counts.max()} answers to {len(asked)} contexts; keep one for each question and context")
    if len(counts) and counts.min() < len(asked):
        raise ValueError(f"rung {' '.join(counts.idxmin())} answered {counts.min()} of {len(asked)} contexts; run the cell that reads again")
    used = out["n_new_tokens"].astype("Float64")
    aic = out["answer_in_context"].astype(float).where(out["answer_defined"].astype(bool) & (out["policy"] != "closed_book"))
    return out.assign(cut_off=(used >= limit).astype("Float64").astype(float), holds=aic)


def ladder(rows: pd.DataFrame, tier: str, pairs: Sequence[tuple[str, str]] = PAIRS, margin: float = 0.02, resamples: int = 10_000,
           seed: int = 0) -> pd.DataFrame:
    """The table ``ladder`` from ``joined`` rows, data set by data set; questions are drawn once for all numbers of a set (module docstring for its kinds).

    Pairs whose policies were not read have no row; with one rung there is no row of kind precision, scale, trend or claim. Holm: over the contrasts of one
    rung; see `adjusted`.
    """
    made = []
    for dataset, group in rows.groupby("dataset"):
        packed = group[group["policy"] != "closed_book"]
        rungs = ladder_rungs.ordered([*map(tuple, group[RUNG].drop_duplicates().to_numpy())])
        policies = list(dict.fromkeys(packed["policy"]))
        usable = [(t, c) for t, c in pairs if t in policies and c in policies]
        columns, qids = per_question(group)
        columns |= differences(columns, rungs, usable)
        columns |= ladder_between.columns(columns, rungs, policies, usable)
        drawn = draw(columns, qids, resamples, seed)
        found = [*_scores(drawn, rungs), *_pooled(packed, rungs, resamples, seed), *_contrasts(drawn, rungs, usable, margin),
                 *_best(drawn, rungs, policies), *ladder_between.rows(drawn, rungs, policies, usable, margin)]
        found += _contexts(packed, usable, margin, resamples, seed)
        fixed = {"tier": tier, "dataset": dataset, "pack_id": packed["pack_id"].iloc[0], "budget": int(packed["budget"].iloc[0])}
        made += [fixed | row for row in found]
    return adjusted(pd.DataFrame(made, columns=list(TABLES["ladder"].columns)))


def per_question(group: pd.DataFrame) -> tuple[dict[tuple, np.ndarray], pd.Index]:
    """Values by (measure, reader, precision, policy), a row a question in the order of its id, and the ids."""
    wide = group.pivot(index="qid", columns=[*RUNG, "policy"], values=list(MEASURES)).sort_index()
    said = group.assign(code=pd.factorize(group["said"])[0]).pivot(index="qid", columns=[*RUNG, "policy"], values="code").sort_index()
    columns = {tuple(name): wide[name].to_numpy(float) for name in wide.columns}
    return columns | {("said", *name): said[name].where(said[name] >= 0).to_numpy(float) for name in said.columns}, wide.index


def differences(columns: Mapping[tuple, np.ndarray], rungs: Sequence[tuple[str, str]], pairs: Sequence[tuple[str, str]]) -> dict[tuple, np.ndarray]:
    """policy - control of each rung, by (metric, reader, precision, policy, control)."""
    return {(m, *rung, t, c): columns[m, *rung, t] - columns[m, *rung, c] for rung in rungs for t, c in pairs for m in METRICS}


def _scores(drawn: Drawn, rungs: Sequence[tuple[str, str]]) -> list[dict]:
    names = [n for n in drawn.names if len(n) == 4 and n[0] in MEASURES and n[1:3] in rungs]
    return [row(n[1:3], "score", n[3], n[0], mean_cell(drawn, n)) for n in names]


def _pooled(packed: pd.DataFrame, rungs: Sequence[tuple[str, str]], resamples: int, seed: int) -> list[dict]:
    """Means over the packers' rows, and F1 with and without the answer in the context; a question is drawn with all its rows."""
    out = []
    for rung in rungs:
        part = packed[(packed["reader"] == rung[0]) & (packed["precision"] == rung[1])].sort_values(["qid", "policy"])
        f1, holds = part["f1"].to_numpy(float), part["holds"].to_numpy(float)
        columns = {m: part[m].to_numpy(float) for m in MEASURES}
        columns |= {"f1_with": np.where(holds == 1, f1, np.nan), "f1_without": np.where(holds == 0, f1, np.nan)}
        drawn, unknown = draw(columns, part["qid"], resamples, seed), {"undefined": int(np.isnan(holds).sum())}  # neither with nor without
        out += [row(rung, "score", "pooled", name, mean_cell(drawn, name) | (unknown if name.startswith("f1_") else {})) for name in columns]
        out.append(row(rung, "score", "pooled", "f1_gap", apart_cell(drawn, "f1_with", "f1_without") | unknown))
    return out


def _contrasts(drawn: Drawn, rungs: Sequence[tuple[str, str]], pairs: Sequence[tuple[str, str]], margin: float) -> list[dict]:
    return [row(rung, "contrast", t, m, difference_cell(drawn, (m, *rung, t, c), margin), control=c) for rung in rungs for t, c in pairs for m in METRICS]


def _contexts(packed: pd.DataFrame, pairs: Sequence[tuple[str, str]], margin: float, resamples: int, seed: int) -> list[dict]:
    """What the rungs were given: the same for all of them, and the part of a contrast that no reader can be the cause of."""
    one = packed.drop_duplicates(["qid", "policy"]).rename(columns={"answer_in_context": "published_convention", "holds": "answer_in_context"})
    wide = one.pivot(index="qid", columns="policy", values=["answer_in_context", "gold_coverage"]).astype(float).sort_index()
    columns = {name: wide[name].to_numpy(float) for name in wide.columns}
    columns |= {(m, t, c): columns[m, t] - columns[m, c] for m in ("answer_in_context", "gold_coverage") for t, c in pairs}
    drawn = draw(columns, wide.index, resamples, seed)
    none = ("none", "none")
    return [row(none, "context", n[1], n[0], difference_cell(drawn, n, margin) if len(n) > 2 else mean_cell(drawn, n), control=n[2] if len(n) > 2 else "none")
            for n in drawn.names]


def _best(drawn: Drawn, rungs: Sequence[tuple[str, str]], policies: Sequence[str]) -> list[dict]:
    """The best fixed policy by F1 and its lead on the second. The pair was chosen by looking, so ``p_holm`` is p times the number of pairs."""
    out, pairs = [], len(policies) * (len(policies) - 1) / 2
    for rung in rungs if pairs else []:
        at = {p: drawn.at(("f1", *rung, p)) for p in policies}
        first, second = sorted(policies, key=lambda p: (-at[p][1], p))[:2]
        lead = difference_cell(draw_of(drawn, at[first], at[second]), "lead")
        p = float(np.minimum(1, lead["p_value"] * pairs))  # missing stays missing
        lead |= {"p_holm": p, "verdict": "separated" if p < LEVEL else "not separated" if p >= LEVEL else "undefined"}
        out.append(row(rung, "best", first, "lead", lead, control=second, chosen=first))
        share = float((at[first][2] >= np.column_stack([at[p][2] for p in policies]).max(axis=1)).mean())
        alone = mean_cell(drawn, ("f1", *rung, first)) | {"estimate": share, "ci_low": np.nan, "ci_high": np.nan}
        out.append(row(rung, "best", first, "best_share", alone, chosen=first))
    return out


def draw_of(drawn: Drawn, a: tuple, b: tuple) -> Drawn:
    """The difference of two columns as a column of its own."""
    return Drawn(["lead"], (a[0] - b[0])[:, None], np.array([a[1] - b[1]]), (a[2] - b[2])[:, None], drawn.codes)


def adjusted(table: pd.DataFrame) -> pd.DataFrame:
    """The table with ``p_holm`` in every tested row: over a rung's contrasts; in comparisons of one kind over all contrasts, and apart from them all means."""
    table = table.astype({"p_holm": float})
    tested = table[table["p_value"].notna() & table["kind"].isin(["contrast", "precision", "scale", "trend"])]
    rung = (tested["reader"] + " " + tested["precision"]).where(tested["kind"] == "contrast", "")
    for _, family in tested.groupby([tested["dataset"], tested["kind"], rung, tested["control"] == "none"]):
        table.loc[family.index, "p_holm"] = stats.holm(family["p_value"].to_numpy(float))
    return table[list(TABLES["ladder"].columns)]
