"""How every figure looks: one theme, one colour, dash and shape a policy, and one way to save.

The figures themselves are in `figures_packing`, `figures_example`, `figures_effects`, `figures_stages` and `figures_claims`.
"""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import altair as alt
import pandas as pd

from lib import tables

MAX_ROWS = 5_000  # Altair's own limit, never switched off: a figure is drawn from a summary table
INK, MUTED, FAINT, PAPER = "#22262B", "#646A72", "#DADDE1", "#FFFFFF"
PERCENT = alt.Axis(labelExpr="format(100 * datum.value, '.0f') + '\u00a0%'", tickCount=6)
# Fonts of equal letter widths. None need be there: vl-convert brings one for sans-serif, so text is never missing from a picture.
FONT = "Helvetica, Arial, Liberation Sans, sans-serif"
PADDING = {"left": 14, "top": 14, "right": 32, "bottom": 14}  # to the right, room for a browser whose sans-serif runs wider


class ChartError(ValueError):
    """A table does not fit a figure; the message names the figure, what was found and the mend."""


class NothingToDraw(ChartError):
    """A sound table without a row that a figure could draw: too few questions, or none with what the figure shows."""


class Look(NamedTuple):
    """How one policy is drawn: colour (distinct in grey and to colour-blind readers), dash and shape say it once more."""

    colour: str
    dash: list[int]
    shape: str
    width: float


LOOKS: dict[str, Look] = {
    "submod": Look("#0B3C6F", [1, 0], "circle", 2.6),
    "focused": Look("#CF5A12", [9, 3], "square", 2.0),
    "mmr": Look("#2A9D8F", [2, 2], "triangle-up", 2.0),
    "naive": Look("#A44A8F", [9, 3, 2, 3], "diamond", 2.0),
    "tuned": Look("#7A2E3A", [5, 2, 1, 2], "triangle-down", 2.2),
    # The graph arms: near the colour of their packer, and its shape hollow.
    "ace_submod": Look("#5C86B5", [8, 2], "M0,-1A1,1,0,0,1,0,1A1,1,0,0,1,0,-1ZM0,-.5A.5,.5,0,0,0,0,.5A.5,.5,0,0,0,0,-.5Z", 1.6),
    "ace_focused": Look("#D9793F", [7, 3, 2, 3], "M-.9,-.9L.9,-.9L.9,.9L-.9,.9ZM-.45,-.45L-.45,.45L.45,.45L.45,-.45Z", 1.6),
    "ace_mmr": Look("#3F9F94", [3, 3], "M0,-1L1,.8L-1,.8ZM0,-.3L-.4,.45L.4,.45Z", 1.6),
    "ace_naive": Look("#B56AA2", [6, 3, 2, 3], "M0,-1.1L1.1,0L0,1.1L-1.1,0ZM0,-.5L-.5,0L0,.5L.5,0Z", 1.6),
    "adagres": Look("#6B6F2E", [6, 2], "M-1,-.4L-.4,-.4L-.4,-1L.4,-1L.4,1L-.4,1L-.4,.4L-1,.4Z", 1.6),
    "selective": Look("#A07A2E", [3, 2], "M-1,-.8L1,-.8L1,-.2L-1,-.2ZM-1,.2L1,.2L1,.8L-1,.8Z", 1.6),
    # The arms below are for reference: muted, thin, behind the published packers.
    "topk": Look("#82888F", [4, 2], "cross", 1.3),
    "random": Look("#8E949B", [1, 3], "triangle-left", 1.3),
    "gold": Look("#9A8240", [12, 3], "triangle-right", 1.3),
    "oracle": Look("#4A4E54", [12, 2, 2, 2], "M0,-1L.3,-.3L1,0L.3,.3L0,1L-.3,.3L-1,0L-.3,-.3Z", 1.3),
    "closed_book": Look("#777C83", [1, 2], "wedge", 1.3),
}
PUBLISHED = ("submod", "focused", "mmr", "naive")
RANKERS: dict[str, Look] = {
    "dense": Look("#0B3C6F", [1, 0], "circle", 2.0),
    "hybrid": Look("#CF5A12", [9, 3], "square", 2.0),
    "bm25": Look("#2A9D8F", [2, 2], "triangle-up", 2.0),
    "iterative": Look("#7A2E3A", [5, 2, 1, 2], "triangle-down", 2.0),
    "splade-tiny": Look("#6B6F2E", [6, 2], "diamond", 1.6),
    "wordllama": Look("#B08A4A", [3, 2], "triangle-left", 1.6),
}
SPARE = Look("#646A72", [4, 2], "diamond", 1.3)
VERDICTS = {"reproduced": "#0B3C6F", "differs": "#CF5A12", "inconclusive": "#82888F", "not run": "#82888F"}


def _theme() -> alt.theme.ThemeConfig:
    axis = {"labelColor": MUTED, "titleColor": MUTED, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal",
            "titlePadding": 9, "labelPadding": 6, "labelFlush": False, "domain": False, "ticks": False, "gridColor": "#ECEEF0"}
    title = {"anchor": "start", "frame": "bounds", "fontSize": 15, "fontWeight": "bold", "color": INK, "offset": 16, "lineHeight": 19,
             "subtitleFontSize": 11.5, "subtitleColor": MUTED, "subtitleLineHeight": 16, "subtitlePadding": 7}
    config = {"font": FONT, "axis": axis, "title": title, "view": {"stroke": None, "cursor": "default"},
              "text": {"color": INK, "fontSize": 11.5}, "rule": {"color": MUTED}}
    return {"width": 560, "background": PAPER, "padding": PADDING, "config": config}


alt.theme.register("survival", enable=False)(_theme)


def use() -> None:
    """Set notebooks up: our theme, and charts shown as SVG so that a page needs neither network nor script."""
    alt.theme.enable("survival")
    alt.renderers.enable("svg")


def in_order(names: set[str] | pd.Series, looks: dict[str, Look] = LOOKS) -> list[str]:
    """Policies or rankers in their one fixed order, those without a look of their own last.

    >>> in_order({"naive", "submod", "mine"})
    ['submod', 'naive', 'mine']
    """
    return [n for n in looks if n in set(names)] + sorted(set(names) - set(looks))


def scale_of(channel: str, names: list[str], looks: dict[str, Look] = LOOKS) -> alt.Scale:
    """The fixed scale of ``channel`` ("colour", "dash", "shape" or "width") for the policies or rankers present.

    >>> scale_of("colour", ["submod"]).to_dict()
    {'domain': ['submod'], 'range': ['#0B3C6F']}
    """
    return alt.Scale(domain=names, range=[getattr(looks.get(n, SPARE), channel) for n in names])


def row_axis(names: list[str], labels: bool = True) -> alt.Axis:
    """The axis of named rows, with room for the longest name in the widest font a browser may take for sans-serif."""
    room = min(240, round(7.4 * max(map(len, names))) + 10) if labels else 0
    return alt.Axis(labelColor=INK, labelFontSize=12, labelLimit=230, labelPadding=10, grid=False, labels=labels, minExtent=room)


def ready(df: pd.DataFrame, figure: str, *columns: str) -> pd.DataFrame:
    """``df`` with plain types and six digits; ChartError when it is empty, lacks columns or is no summary (over 5,000 rows)."""
    missing = [c for c in columns if c not in df]
    if missing:
        raise ChartError(f"{figure}: columns {missing} are missing; found {list(df)}")
    if df.empty:
        raise NothingToDraw(f"{figure}: the table has no rows; loosen the filter that made it")
    _within_limit(len(df), figure)
    gaps = [c for c in columns if c in ("estimate", "ci_low", "ci_high", "delta", "share") and df[c].isna().any()]
    if gaps:
        raise ChartError(f"{figure}: a value is missing in {gaps}; drop the undefined rows and say so in the text")
    plain = {c: "float64" for c in df.select_dtypes("number") if not pd.api.types.is_integer_dtype(df[c])}
    whole = {c: "int64" for c in df.select_dtypes("number") if c not in plain and df[c].notna().all()}
    return tables.six_digits(df.reset_index(drop=True).astype({**plain, **whole}))


def _within_limit(n: int, figure: str) -> None:
    if n > MAX_ROWS:
        raise ChartError(f"{figure}: {n:,} rows, a figure takes at most {MAX_ROWS:,}; summarise first (lib.summaries), then draw that")


def spec_of(chart: alt.TopLevelMixin, name: str) -> dict:
    """The chart as self-contained Vega-Lite under our theme, free of names that depend on what was drawn before."""
    with alt.theme.enable("survival"), alt.data_transformers.enable("default", max_rows=None):
        spec = chart.to_dict()  # our own limit below has the clearer message
    rows = sum(len(v) for v in spec.get("datasets", {}).values())
    _within_limit(rows, name)
    text = json.dumps(spec, sort_keys=True)
    if '"url"' in text:
        raise ChartError(f"{name}: the chart points to data outside itself; give it a DataFrame")
    order = {old: f"view_{i}" for i, old in enumerate(dict.fromkeys(re.findall(r"\bview_\d+\b", text)))}
    return json.loads(re.sub(r"\bview_\d+\b", lambda m: order[m.group()], text))


def save(chart: alt.TopLevelMixin, name: str, tier: str) -> alt.TopLevelMixin:
    """Write ``figures/<tier>/<name>.vl.json`` and ``.svg``, the same bytes on each run; return ``chart`` to be shown."""
    import vl_convert
    from altair.utils._importers import vl_version_for_vl_convert

    spec = spec_of(chart, name)
    text = json.dumps(spec, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    svg = vl_convert.vegalite_to_svg(spec, vl_version=vl_version_for_vl_convert())
    for suffix, content in ((".vl.json", text), (".svg", svg)):
        tables.write_atomically(path_of(name, tier, suffix), lambda p, c=content: _write_text(p, c))
    return chart


def path_of(name: str, tier: str, suffix: str) -> Path:
    """Where a saved figure lies."""
    return tables.ROOT / "figures" / tier / f"{name}{suffix}"


def _write_text(path: str, content: str) -> None:
    Path(path).write_text(content, encoding="utf-8", newline="\n")
