"""The tables of the audit's page: every quantity, units, causes, controls, counts, definitions; as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

import pandas as pd

from lib import chart_words as words
from lib.viability_definitions import definitions

MAIN = "exponential"  # the gain that document 001 uses: of figures and verdicts
QUANTITIES = {
    "candidate_recall": "candidate recall",
    "graded_coverage": "graded coverage",
    "mrr_first": "MRR, first stage",
    "mrr_reranked": "MRR, reranked",
    "base": "nDCG, first stage",
    "reranked": "nDCG, reranked",
    "ceiling": "ceiling: best order of the pool",
    "omission_gap": "omission gap: 1 − ceiling",
    "ordering_headroom": "ordering headroom: ceiling − first stage",
    "realised_gain": "realised gain: reranked − first stage",
    "headroom_capture": "headroom capture: gains over headrooms",
    "conditional_gain": "gain where the evidence is in the pool",
    "regression": "regression: mean loss",
    "regressed": "queries that the reranker lowers",
    "requirement_met": "queries whose pool suffices",
    "judged_first": "judged share of the first places",
    "judged_reranked": "the same, reranked",
    "base_worst": "nDCG, first stage, worst order of ties",
    "base_best": "the same, best",
    "reranked_worst": "nDCG, reranked, worst order of ties",
    "reranked_best": "the same, best",
    "base_condensed": "nDCG, first stage, unjudged removed",
    "reranked_condensed": "nDCG, reranked, unjudged removed",
}
UNIT_WORDS = {
    "document": "any passage of each document",
    "passage": "each passage",
    "proposition": "each passage with what must travel with it",
    "bundle": "the best admissible bundle",
}


def quantities(slices: pd.DataFrame) -> str:
    """Every measure of every slice, a table a gain; bounds of ties only where there are ties."""
    names = list(dict.fromkeys(name_of(r, slices) for r in all_last(slices).drop_duplicates(["dataset", "slice"]).itertuples()))
    body = []
    for gain, part in slices.groupby("gain"):
        cells = {(name_of(r, slices), r.measure): interval(r.estimate, r.ci_low, r.ci_high) for r in part.itertuples()}
        rows = [[text_of(said), *(cells.get((n, measure), "") for n in names)] for measure, said in QUANTITIES.items() if measure not in _without_ties(part)]
        rows = [row for row in rows if any(c not in ("", "–") for c in row[1:])]
        body.append(
            f"<details{' open' if gain == MAIN else ''}><summary>{gain} gain: {'2<sup>g</sup> − 1' if gain == MAIN else 'g'}</summary>"
            + table_of(["mean over queries", *map(text_of, names)], rows)
            + "</details>"
        )
    return "<h2>All quantities</h2>" + "".join(body)


def _without_ties(part: pd.DataFrame) -> set[str]:
    """The bounds that say nothing new: where best and worst order of ties agree everywhere."""
    wide = part.pivot(index=["dataset", "slice"], columns="measure", values="estimate")
    return {f"{c}_{end}" for c in ("base", "reranked") for end in ("worst", "best") if wide[f"{c}_worst"].equals(wide[f"{c}_best"])}


def units(table: pd.DataFrame) -> str:
    """Coverage and completion in each unit of evidence, all queries; empty where only passages are known."""
    if table.empty or table["unit"].nunique() < 2:
        return ""
    wide = {key: part.set_index("measure") for key, part in table[table["slice"] == "all"].groupby(["dataset", "unit"], sort=False)}
    rows = [
        [
            text_of(f"{unit}: {UNIT_WORDS[unit]}"),
            *(
                interval(*part.loc[m, ["estimate", "ci_low", "ci_high"]])
                for m in ("pool_coverage", "pool_complete", "first_complete", "reranked_complete", "ceiling_complete")
            ),
        ]
        for (_, unit), part in wide.items()
    ]
    return (
        "<h2>The same lists in other units of evidence</h2>"
        + table_of(["found means", "share in the pool", "all in the pool", "all shown, first stage", "all shown, reranked", "all shown, best order"], rows)
        + "<p class=note>A larger share at one unit is no better system: it is a weaker question.</p>"
    )


def causes(shares: pd.DataFrame) -> str:
    """Shares of omission causes per slice."""
    if shares.empty:
        return "<h2>Why evidence is missing</h2><p>No relevant passage is missing from its pool.</p>"
    if set(shares.loc[shares["passages"] > 0, "cause"]) == {"unknown"}:
        missing = int(shares.loc[shares["slice"] == "all", "passages"].sum())
        return (
            f"<h2>Why evidence is missing</h2><p>{_missing(missing)} missing; the causes are unknown: they are told from the texts of queries and corpus, "
            "both are needed.</p>"
        )
    rows = [
        [text_of(name_of(r, shares)), text_of(r.cause), f"{r.passages} of {r.n}", interval(r.estimate, r.ci_low, r.ci_high), _bar(r.estimate)]
        for r in all_last(shares).itertuples()
        if r.passages
    ]
    return (
        "<h2>Why evidence is missing</h2>"
        + table_of(["slice", "cause", "missing passages", "share", ""], rows)
        + (
            "<p class=note>Rules, first that holds: access filter; freshness (newer than the index, not in it, or only its older version "
            "retrieved); chunking (the question's words lie in "
            "another part of its document); underspecified query (as many passages as the pool is deep hold every word asked); "
            "vocabulary (under a third of the words); unknown.</p>"
        )
    )


def _missing(n: int) -> str:
    """How many passages, with the verb that goes with it.

    >>> _missing(1), _missing(1200)
    ('1 relevant passage is', '1,200 relevant passages are')
    """
    return f"{n:,} relevant passage{' is' if n == 1 else 's are'}"


def controls(table: pd.DataFrame) -> str:
    """The controls with what was expected and found."""
    rows = [
        [
            text_of(r.control),
            text_of(r.measure.replace("_", " ")),
            "to be read" if pd.isna(r.expected) else f"{r.expected:g}",
            f"{r.found:.4f}",
            f"{r.n:,}",
            "–" if pd.isna(r.expected) else "passed" if r.passed else "<b>failed</b>",
        ]
        for r in table.itertuples()
    ]
    return (
        "<h2>Controls</h2>"
        + table_of(["control", "measure", "expected", "found (worst query)", "queries", ""], rows)
        + (
            "<p class=note>Oracle order: a perfect reranker captures all headroom. Already correct: the oracle's order as first stage; "
            "what the reranker changes there is damage. "
            "Omitted answer: all relevant passages taken out; nothing may be credited.</p>"
        )
    )


def counts(table: pd.DataFrame) -> str:
    """What the files held that a reader of the numbers should know."""
    rows = [[text_of(r.what), f"{r.n:,}", text_of(r.meaning)] for r in table.itertuples()]
    return "<h2>What was counted</h2>" + table_of(["in the files", "n", "what became of them"], rows) if rows else ""


def compared() -> str:
    """Definitions beside those of other tools."""
    rows = [[text_of(r.what), r.compared, text_of(r.elsewhere), text_of(r.here)] for r in definitions().itertuples()]
    return "<h2>Definitions beside other tools</h2>" + table_of(["what", "", "elsewhere", "here"], rows)


def all_last(table: pd.DataFrame) -> pd.DataFrame:
    """Slices by name, 'all' behind them."""
    return table.assign(_end=table["slice"] == "all").sort_values(["_end", "dataset", "slice"], kind="stable").drop(columns="_end")


def name_of(row, table: pd.DataFrame) -> str:
    """A row's slice in words, with its data set where ``table`` has several."""
    name = "all queries" if row.slice == "all" else row.slice
    return f"{row.dataset}: {name}" if table["dataset"].nunique() > 1 else name


def interval(estimate: float, low: float, high: float, signed: bool = False) -> str:
    """An estimate over its interval; a dash where it is undefined."""
    if pd.isna(estimate):
        return "–"
    shown = [words.signed(v) if signed or v < 0 else f"{v:.3f}" for v in (estimate, low, high)]
    return shown[0] + ("" if pd.isna(low) else f"<small>{shown[1]} to {shown[2]}</small>")


def _bar(share: float) -> str:
    return f'<span class=bar style="width:{120 * share:.0f}px"></span>'


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "plain") -> str:
    """A table of ready HTML cells; each knows its column's head, for the ``kind`` "cards", whose rows stand as cards on a narrow screen."""
    top = "".join(f"<th scope=col>{h}</th>" for h in head)
    cells = [f'<td data-head="{h}">' if kind == "cards" and h else "<td>" for h in head]
    body = "".join("<tr>" + "".join(f"{cell}{c}</td>" for cell, c in zip(cells, row)) + "</tr>" for row in rows)
    return f"<div class=wide><table class={kind}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def text_of(value: object) -> str:
    """Anything as text that HTML cannot misread.

    >>> text_of("<b>")
    '&lt;b&gt;'
    """
    return html.escape(str(value), quote=True)
