"""One question drawn whole: what was retrieved, what each packer kept within the budget, where the answer went (document 000, figure 1)."""
from __future__ import annotations

from typing import NamedTuple

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import FAINT, INK, LOOKS, MUTED, PAPER, SPARE, ChartError, in_order, ready

WIDTH, NAMES, BETWEEN = 708, 186, 20  # pixels: the whole, the column of titles, between two columns
ROW, HEAD, BAR = 25, 48, 13
GOLD, STAR = "#F7EDD0", LOOKS["oracle"].shape
RETRIEVED = "retrieved"


class _Place(NamedTuple):
    """Where things stand, in pixels: a row a document, a column a packer, ``scale`` pixels a token."""

    rows: dict[int, int]
    columns: list[str]
    scale: float

    def left(self, column: str) -> float:
        return NAMES + self.columns.index(column) * (WIDTH - NAMES + BETWEEN) / len(self.columns)

    def middle(self, rank: int) -> float:
        return HEAD + ROW * (self.rows[rank] + 0.5)

    @property
    def narrow(self) -> bool:
        return len(self.columns) > 6

    @property
    def foot(self) -> float:
        return HEAD + ROW * len(self.rows) + 24


def worked_example(question: str, answer: str, snippets: pd.DataFrame, packs: pd.DataFrame, title: str | None = None, *,
                   budget: int = 160, tier: str | None = None) -> alt.LayerChart:
    """Retrieved documents in rank order, a row each, and in a column a packer their snippets: filled kept, hollow dropped, answer starred.

    A snippet is as wide as its tokens. ``snippets``: doc_rank, title, position, n_tokens, is_gold, holds_answer, snippet_id, text;
    ``packs``: policy, snippet_id, rows in reading order. ``title`` replaces the finding. Raises ChartError.
    """
    got = ready(snippets, "worked_example: snippets", "doc_rank", "title", "position", "n_tokens", "is_gold", "holds_answer", "snippet_id", "text")
    got = got.sort_values(["doc_rank", "position"], ignore_index=True).astype({"is_gold": bool, "holds_answer": bool})
    kept = ready(packs, "worked_example: packs", "policy", "snippet_id")[["policy", "snippet_id"]]
    strangers = sorted(set(kept["snippet_id"]) - set(got["snippet_id"]))
    if strangers:
        raise ChartError(f"worked_example: packs hold snippets that are not among those retrieved: {strangers[:3]}; "
                         "take both from one question and one pool_id")
    kept = kept.merge(got, on="snippet_id", how="left", sort=False)
    policies = in_order(kept["policy"])[::-1]  # the anchor first, the packer in question last
    columns = [RETRIEVED, *policies]
    widest = max(budget, got.groupby("doc_rank")["n_tokens"].sum().max(), kept.groupby("policy")["n_tokens"].sum().max())
    place = _Place({rank: k for k, rank in enumerate(dict.fromkeys(got["doc_rank"]))}, columns,
                   ((WIDTH - NAMES + BETWEEN) / len(columns) - BETWEEN) / widest)
    layers = [_gold_rows(got, place), *_titles(got, place), *_heads(got, kept, place, budget), *_bars(_every_bar(got, kept, place), place),
              *_budget(kept, place, budget), *_key(place)]
    head = words.headed(title or _finding(got, kept, policies, budget), f"Question: {question}", _found(answer, got),
                        f"n = 1 question, drawn as it is: no interval · {tier} tier" if tier else "n = 1 question, drawn as it is: no interval")
    return alt.layer(*layers).properties(width=WIDTH, height=place.foot + 62, title=head)


def _finding(got: pd.DataFrame, kept: pd.DataFrame, policies: list[str], budget: int) -> str:
    if not got["holds_answer"].any():
        return "No retrieved snippet holds the answer: no packer could have kept it"
    keep = [p for p in policies if kept.loc[kept["policy"] == p, "holds_answer"].any()]
    lose = [p for p in policies if p not in keep]
    if not lose:
        return f"Retrieval found the answer, and every packer keeps it within {budget} tokens"
    if not keep:
        return f"Retrieval found the answer, yet no packer keeps it within {budget} tokens"
    return (f"Retrieval found the answer: within {budget} tokens {words.listed(keep)} keep{'s' * (len(keep) == 1)} it; "
            f"{words.listed(lose)} lose{'s' * (len(lose) == 1)} it")


def _found(answer: str, got: pd.DataFrame, letters: int = 130) -> str:
    """The answer and the first snippet that holds it, cut around the answer."""
    held = got[got["holds_answer"]]
    if held.empty:
        return f"Answer: {answer}, in no retrieved snippet"
    text = held["text"].iloc[0]
    at = max(0, text.lower().find(answer.lower()))
    start = max(0, min(at + len(answer) // 2 - letters // 2, len(text) - letters))
    start = text.rfind(" ", 0, start) + 1 if start else 0
    cut = text[start:start + letters]
    cut = cut if start + letters >= len(text) else cut[:cut.rfind(" ")] + " …"
    return f"Answer: {answer}, in document {held['doc_rank'].iloc[0]}: “{'… ' * bool(start)}{cut}”"


def _every_bar(got: pd.DataFrame, kept: pd.DataFrame, place: _Place) -> pd.DataFrame:
    start = (got.groupby("doc_rank")["n_tokens"].cumsum() - got["n_tokens"])
    parts = []
    for column in place.columns:
        packed = set(kept.loc[kept["policy"] == column, "snippet_id"])
        parts.append(pd.DataFrame({
            "column": column, "left": place.left(column) + start * place.scale, "width": got["n_tokens"] * place.scale,
            "middle": got["doc_rank"].map(place.middle), "answer": got["holds_answer"],
            "filled": True if column == RETRIEVED else got["snippet_id"].isin(packed)}))
        seen = kept[kept["policy"] == column]
        parts.append(pd.DataFrame({
            "column": column, "left": place.left(column) + (seen["n_tokens"].cumsum() - seen["n_tokens"]) * place.scale,
            "width": seen["n_tokens"] * place.scale, "middle": place.foot, "answer": seen["holds_answer"], "filled": True}))
    bars = pd.concat(parts, ignore_index=True)
    return bars.assign(right=bars["left"] + bars["width"] - 1.5, top=bars["middle"] - BAR / 2, bottom=bars["middle"] + BAR / 2,
                       star=bars["left"] + bars["width"] / 2 - 0.75, colour=[_colour(c) for c in bars["column"]])


def _colour(column: str) -> str:
    return MUTED if column == RETRIEVED else LOOKS.get(column, SPARE).colour


def _xy(place: _Place, x: str, y: str) -> dict[str, alt.X | alt.Y]:
    """Pixels as they are: x to the right, y downwards."""
    return {"x": alt.X(f"{x}:Q", axis=None, scale=alt.Scale(domain=[0, WIDTH], nice=False)),
            "y": alt.Y(f"{y}:Q", axis=None, scale=alt.Scale(domain=[place.foot + 62, 0], nice=False, zero=False))}


def _bars(bars: pd.DataFrame, place: _Place) -> list[alt.Chart]:
    base = alt.Chart(bars).encode(color=alt.Color("colour:N", scale=None), **_xy(place, "left", "top"))
    box = {"x2": "right:Q", "y2": "bottom:Q"}
    full = base.transform_filter("datum.filled").mark_rect(opacity=0.92).encode(**box)
    hollow = base.transform_filter("!datum.filled").mark_rect(filled=False, strokeWidth=1, opacity=0.5).encode(**box)
    held = bars[bars["answer"]]
    held = held.assign(inside=held["colour"].where(~held["filled"], PAPER))  # white on a kept snippet, edged where that is narrower than a star
    stars = alt.Chart(held).mark_point(shape=STAR, size=140, filled=True, opacity=1, strokeWidth=0.8).encode(
        fill=alt.Fill("inside:N", scale=None), stroke=alt.Stroke("colour:N", scale=None), **_xy(place, "star", "middle"))
    return [full, hollow, *([stars] if len(held) else [])]


def _gold_rows(got: pd.DataFrame, place: _Place) -> alt.Chart:
    gold = sorted(set(got.loc[got["is_gold"], "doc_rank"]))
    rows = pd.DataFrame([{"left": -6, "right": WIDTH, "top": place.middle(r) - ROW / 2 + 1, "bottom": place.middle(r) + ROW / 2 - 1} for r in gold],
                        columns=["left", "right", "top", "bottom"])
    return alt.Chart(rows).mark_rect(color=GOLD, cornerRadius=3).encode(x2="right:Q", y2="bottom:Q", **_xy(place, "left", "top"))


def _texts(rows: list[dict], place: _Place, **mark: object) -> alt.Chart:
    return alt.Chart(pd.DataFrame(rows)).mark_text(align="left", **mark).encode(
        text="text:N", color=alt.Color("colour:N", scale=None), **_xy(place, "x", "y"))


def _titles(got: pd.DataFrame, place: _Place) -> list[alt.Chart]:
    docs = got.drop_duplicates("doc_rank")
    out = []
    for gold, weight in ((True, "bold"), (False, "normal")):
        rows = [{"x": 20, "y": place.middle(r), "text": t, "colour": INK} for r, t in zip(docs["doc_rank"], docs["title"])
                if (r in set(docs.loc[docs["is_gold"], "doc_rank"])) == gold]
        out += [_texts(rows, place, baseline="middle", fontWeight=weight, limit=NAMES - 46)] if rows else []
    ranks = [{"x": 0, "y": place.middle(r), "text": str(r), "colour": MUTED} for r in docs["doc_rank"]]
    notes = [{"x": 0, "y": HEAD - 14, "text": "rank and document", "colour": MUTED},
             {"x": 0, "y": place.foot, "text": "what the reader sees", "colour": INK}]
    return [*out, _texts(ranks, place, baseline="middle", fontSize=11), _texts(notes, place, baseline="middle", fontSize=11)]


def _heads(got: pd.DataFrame, kept: pd.DataFrame, place: _Place, budget: int) -> list[alt.Chart]:
    found = got["holds_answer"].any()
    names, fates = [], []
    for column in place.columns:
        has = found if column == RETRIEVED else kept.loc[kept["policy"] == column, "holds_answer"].any()
        word = ("found" if has else "missed") if column == RETRIEVED else ("kept" if has else "lost")
        word = word if place.narrow else f"answer {word}"
        names.append({"x": place.left(column), "y": HEAD - 32, "text": column, "colour": _colour(column)})
        fates.append({"x": place.left(column), "y": HEAD - 14, "text": word, "colour": INK if has else MUTED, "has": has})
    weights = [[f for f in fates if f["has"]], [f for f in fates if not f["has"]]]
    return [_texts(names, place, baseline="middle", fontWeight="bold", fontSize=13),
            *[_texts(f, place, baseline="middle", fontSize=11.5, fontWeight=w) for f, w in zip(weights, ("bold", "normal")) if f]]


def _budget(kept: pd.DataFrame, place: _Place, budget: int) -> list[alt.Chart]:
    """A box as wide as the budget around what each packer hands to the reader, and its tokens below."""
    used = kept.groupby("policy")["n_tokens"].sum()
    boxes = [{"left": place.left(p) - 2, "right": place.left(p) + budget * place.scale + 1, "top": place.foot - BAR / 2 - 3,
              "bottom": place.foot + BAR / 2 + 3} for p in place.columns[1:]]
    box = alt.Chart(pd.DataFrame(boxes)).mark_rect(filled=False, stroke=MUTED, strokeWidth=1, cornerRadius=2).encode(
        x2="right:Q", y2="bottom:Q", **_xy(place, "left", "top"))
    sums = [{"x": place.left(p) - 2, "y": place.foot + 21, "text": f"{used[p]} of {budget}{'' if place.narrow else ' tokens'}", "colour": MUTED} for p in place.columns[1:]]
    return [box, _texts(sums, place, baseline="middle", fontSize=10.5)]


def _key(place: _Place) -> list[alt.Chart]:
    y, line = place.foot + 52, HEAD + ROW * len(place.rows) + 5
    texts = [{"x": x, "y": y, "text": t, "colour": MUTED} for x, t in
             ((26, "a kept snippet, as wide as its tokens"), (290, "a dropped one"), (412, "it holds the answer"), (570, "a gold document"))]
    marks = [{"left": 0, "right": 20, "fill": MUTED, "stroke": MUTED}, {"left": 264, "right": 284, "fill": PAPER, "stroke": "#A9ADB2"},
             {"left": 386, "right": 406, "fill": MUTED, "stroke": MUTED}, {"left": 544, "right": 564, "fill": GOLD, "stroke": GOLD}]
    boxes = alt.Chart(pd.DataFrame([{**m, "top": y - BAR / 2, "bottom": y + BAR / 2} for m in marks])).mark_rect(strokeWidth=1).encode(
        x2="right:Q", y2="bottom:Q", fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("stroke:N", scale=None), **_xy(place, "left", "top"))
    star = alt.Chart(pd.DataFrame([{"x": 396, "y": y}])).mark_point(shape=STAR, size=130, filled=True, color=PAPER,
                                                                     opacity=1).encode(**_xy(place, "x", "y"))
    rule = alt.Chart(pd.DataFrame([{"left": 0, "right": WIDTH, "y": line}])).mark_rule(color=FAINT).encode(x2="right:Q", **_xy(place, "left", "y"))
    return [rule, boxes, star, _texts(texts, place, baseline="middle", fontSize=11)]
