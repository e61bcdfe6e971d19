"""The audit as one HTML page that needs no network, script or font: verdicts, the two figures, every quantity, controls, causes, counts."""

from __future__ import annotations

import re

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib import charts
from lib.figures_viability import two_error_plane
from lib.figures_viability_regressions import regressions_by_slice
from lib.viability_report_tables import (
    MAIN,
    all_last,
    causes,
    compared,
    controls,
    counts,
    interval,
    name_of,
    quantities,
    table_of,
    text_of,
    units,
)
from lib.viability_style import STYLE
from lib.viability_verdict import FEWEST

NAMED = 6  # slices that the headline names


def page(report) -> str:
    """The whole page of a `viability_run.Report`; the same tables give the same bytes."""
    verdicts, slices = (t[t["gain"] == MAIN] for t in (report.verdicts, report.slices))
    parts = [
        _head(report, verdicts),
        _reading(report.settings),
        _verdicts(verdicts),
        *_figures(slices, verdicts),
        quantities(report.slices),
        units(report.units),
        causes(report.cause_shares),
        controls(report.controls),
        counts(report.counts),
        compared(),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Is reranking viable?</title><style>{STYLE}</style></head>\n<body><main>\n" + "\n".join(filter(None, parts)) + "\n</main></body></html>\n"
    )


def _head(report, verdicts: pd.DataFrame) -> str:
    whole = verdicts[verdicts["slice"] == "all"]
    said = "; ".join(f"{f'{r.dataset}: ' if len(whole) > 1 else ''}{r.verdict}" for r in whole.itertuples())
    others = otherwise(verdicts)
    s = report.settings
    setup = [
        f"first stage <b>{text_of(s['first_stage'])}</b>, pools of {s['depth']}",
        "no reranker" if s["reranker"] == "none" else f"reranker <b>{text_of(s['reranker'])}</b>",
        f"nDCG@{s['cutoff']}",
        words.counted(whole["n"], "query" if whole["n"].max() == 1 else "queries"),
        f"{s['resamples']:,} paired resamples, seed {s['seed']}",
    ]
    return (
        f"<header><p class=kicker>Viability audit</p><h1>Is reranking viable?</h1><p class=answer>Over all queries: <strong>{text_of(said)}</strong>"
        f"{f'; otherwise on: {text_of(others)}' if others else ''}.</p>"
        f"<p class=setup>{' · '.join(setup)}</p><p>A reranker can only reorder what the first stage retrieved. So the score is split in three: what the first "
        "stage already earns, what a perfect order of the same pool would add (<em>ordering headroom</em>), and what the pool does not hold at all "
        f"(<em>omission gap</em>). The three add up to 1. Required evidence: {text_of(s['requirement'])}.</p></header>"
    )


def otherwise(verdicts: pd.DataFrame) -> str:
    """The slices whose verdict is another one than that of all queries, each with its own, what is undecided beside it aside; the first ``NAMED``.

    >>> otherwise(pd.DataFrame({"dataset": "d", "slice": ["all", "a", "b"], "verdict": ["rerank", "rerank; undecided: retrieval", "repair retrieval"]}))
    'b (repair retrieval)'
    """
    heads = verdicts.assign(head=[_head_of(v) for v in verdicts["verdict"]])
    whole = heads[heads["slice"] == "all"].set_index("dataset")["head"]
    other = [f"{name_of(r, verdicts)} ({r.head})" for r in all_last(heads).itertuples() if r.head != whole.get(r.dataset, r.head)]
    more = len(other) - NAMED
    return ", ".join(other[:NAMED]) + (f" and {more} more slice{'s' * (more > 1)}" if more > 0 else "")


def _head_of(verdict: str) -> str:
    return "undecided" if verdict.startswith("undecided") else verdict.partition("; undecided")[0]


def _reading(settings: dict) -> str:
    """The terms of the page, each explained once."""
    k = settings["cutoff"]
    return (
        "<h2>How to read this page</h2><p class=reading>Judgements grade how well a passage serves a query. "
        f"<b>nDCG@{k}</b> adds up what the first {k} passages are worth, each less the lower it stands, and divides by the best sum that the judgements allow: "
        "1 is perfect, 0 shows nothing relevant. <b>MRR</b>, mean reciprocal rank, is 1 over the place of a query’s first relevant passage, averaged. "
        "<b>Graded coverage</b> is the share of all relevant worth, not of passages, that the pool holds. Under a mean stands its 95 % interval: the queries "
        f"are drawn anew {settings['resamples']:,} times, with repeats (<b>resamples</b>), and the interval holds the middle 95 % of the means. "
        "Of many slices one looks good by chance, so <b>Holm’s correction</b> asks the more of each gain or loss, the more slices are tested. "
        "<b>Estimates alone</b> is what the verdict would be if the means were certain: a leaning, not a finding.</p>"
    )


def _verdicts(verdicts: pd.DataFrame) -> str:
    rows = []
    for r in all_last(verdicts).itertuples():
        said, _, open_ = r.verdict.partition("; undecided: ")
        lean = f"<span class=lean>undecided: {text_of(open_)}</span>" if open_ else ""
        lean += "" if "undecided" not in r.verdict or r.leaning == r.verdict else f"<span class=lean>estimates alone: {text_of(r.leaning)}</span>"
        rows.append(
            [
                f"<b>{text_of(name_of(r, verdicts))}</b>",
                f'<span class="tag {_tone(r.verdict)}">{text_of(said)}</span>{lean}',
                text_of(r.document_verdict),
                interval(r.requirement_met, r.met_low, r.met_high),
                interval(r.ordering_headroom, r.headroom_low, r.headroom_high),
                interval(r.realised_gain, r.gain_low, r.gain_high, signed=True),
                text_of(r.why),
            ]
        )
    note = (
        "Ours asks for the stated evidence and judges retrieval, ordering and reranking by 95 % intervals; where one straddles its "
        f"threshold it says undecided, and so it does of order and reranker wherever fewer than {FEWEST} queries were scored: even if all of "
        f"{FEWEST - 1} change the same way, a two-sided sign test cannot reach 0.05. "
        "Where all queries of a slice agree, its interval is as wide as so few queries leave it. Gains and losses must also "
        "pass Holm's correction over the slices. "
        "Document 001, the essay on when reranking is viable that this audit follows, looks at averages without intervals: recall under 0.95 or omission over 0.05: fix retrieval; "
        "headroom under 0.02: skip; no gain: reject; else viable."
    )
    return (
        "<h2>Verdicts</h2>"
        + table_of(["slice", "our verdict", "document 001", "pools that suffice", "headroom", "gain", "in counts"], rows, "cards")
        + f"<p class=note>{note}</p>"
    )


def _figures(slices: pd.DataFrame, verdicts: pd.DataFrame) -> list[str]:
    """The two figures, or a sentence why there is none; a gain of too few queries passes no test in a figure's title, either."""
    out, tested = [], verdicts.assign(p_holm=verdicts["p_holm"].mask(verdicts["n"] < FEWEST, 1.0))
    unranked = (verdicts["reranker"] == "none").all()
    for name, title, draw in (
        ("plane", "Which stage lost the evidence", two_error_plane),
        ("regressions", "Whom the reranker lifts, whom it lowers", regressions_by_slice),
    ):
        try:
            out.append(f"<h2>{title}</h2><figure>{_svg(draw(slices, tested), name)}</figure>")
        except charts.NothingToDraw:
            reason = "nothing was reranked" if name == "regressions" and unranked else "no query has a relevant passage, so none has a score"
            out.append(f"<p class=note>No figure “{title}”: {reason}.</p>")
    return out


def _svg(chart: alt.TopLevelMixin, name: str) -> str:
    """A chart as inline SVG: ids of its own, and its title for readers who hear the page."""
    import vl_convert
    from altair.utils._importers import vl_version_for_vl_convert

    spec = charts.spec_of(chart, name)
    svg = vl_convert.vegalite_to_svg(spec, vl_version=vl_version_for_vl_convert())
    svg = re.sub(r'(id="|url\(#|href="#)(?=[A-Za-z])', rf"\g<1>{name}-", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{text_of(" ".join(spec["title"]["text"]))}" ', 1)


def _tone(verdict: str) -> str:
    return "open" if verdict.startswith("un") else "bad" if "repair" in verdict or "reject" in verdict else "good" if "rerank" in verdict else "keep"
