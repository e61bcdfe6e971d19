"""The claim/entity graph of one question: claims under their documents, entities as lines that join them (SPEC 10)."""
from __future__ import annotations

from typing import NamedTuple

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import FAINT, INK, LOOKS, MUTED, PAPER, ChartError, ready
from lib.figures_ace_cards import BETWEEN, LINE, WIDTH, cards, finding, rows_drawn

ROW, NAMES = 19, 168  # an entity's row, the column of their names
GOLD, TIED, STAR = "#F7EDD0", LOOKS["submod"].colour, LOOKS["oracle"].shape


class _Place(NamedTuple):
    """Where things stand, in pixels: documents are columns, claims cards, and below the cards a column a claim and a row an entity."""

    documents: list[str]
    cards: pd.DataFrame
    entities: list[str]

    @property
    def step(self) -> float:
        return (WIDTH + BETWEEN) / len(self.documents)

    @property
    def foot(self) -> float:
        return float(self.cards["bottom"].max()) + 42

    @property
    def height(self) -> float:
        return self.foot + ROW * len(self.entities) + 36


def claim_graph(question: str, answer: str, claims: pd.DataFrame, entities: pd.DataFrame, edges: pd.DataFrame, title: str | None = None, *,
                tier: str | None = None, documents: int = 5, most: int = 10) -> alt.LayerChart:
    """Claims of the first ``documents`` passages as cards, and below them the entities that two claims or more share, a line each.

    A dot: the claim names the entity; a ring: it means it, by "he" or a short name. Cards with the answer are starred, gold passages shaded.
    ``claims``, ``entities``, ``edges`` are from ``ace.example``; ``title`` replaces the finding. Raises ChartError.
    """
    got = ready(claims, "claim_graph: claims", "doc_id", "doc_rank", "title", "claim", "text", "is_gold", "holds_answer", "introduced_by")
    got = got.sort_values(["doc_rank", "claim"], ignore_index=True).astype({"is_gold": bool, "holds_answer": bool})
    shown = list(dict.fromkeys(got["doc_id"]))[:documents]
    if not entities.empty and not set(edges["entity"]) <= set(entities["entity"]):
        raise ChartError("claim_graph: edges name entities that are not in the table; take both from one call of ace.example")
    head = title or finding(got, entities, edges)
    got = got[got["doc_id"].isin(shown)]
    links = edges[edges["doc_id"].isin(shown)].assign(full=lambda t: t["how"] == "name")
    links = links.groupby(["doc_id", "claim", "entity"], as_index=False)["full"].max()
    rows = rows_drawn(links, got, most)
    place = _Place(shown, cards(got, shown, answer), rows)
    hidden = links["entity"].nunique() - len(rows)
    told = f"{hidden} rarer entities are not drawn" if hidden else "every entity is drawn"
    notes = (f"Question: {question}", f"Answer: {answer} · {len(got)} claims of {len(shown)} retrieved passages; {told}",
             "n = 1 question, drawn as it is: no interval" + (f" · {tier} tier" if tier else ""))
    layers = [_shades(got, place), *_heads(got, place), *_boxes(place), *_fabric(links, entities, place), *_key(place)]
    return alt.layer(*layers).properties(width=WIDTH, height=place.height, title=words.headed(head, *notes))


def _xy(place: _Place, x: str, y: str) -> dict[str, alt.X | alt.Y]:
    """Pixels as they are: x to the right, y downwards."""
    return {"x": alt.X(f"{x}:Q", axis=None, scale=alt.Scale(domain=[0, WIDTH], nice=False)),
            "y": alt.Y(f"{y}:Q", axis=None, scale=alt.Scale(domain=[place.height, 0], nice=False, zero=False))}


def _texts(rows: list[dict], place: _Place, **mark: object) -> alt.Chart:
    return alt.Chart(pd.DataFrame(rows)).mark_text(**{"align": "left", "baseline": "middle", **mark}).encode(
        text="text:N", color=alt.Color("colour:N", scale=None), **_xy(place, "x", "y"))


def _shades(got: pd.DataFrame, place: _Place) -> alt.Chart:
    columns = sorted({place.documents.index(d) for d in got.loc[got["is_gold"], "doc_id"]})
    bottom = place.cards["bottom"].max() + 4
    rows = pd.DataFrame([(k * place.step - 4, (k + 1) * place.step - BETWEEN + 4, 0, bottom) for k in columns], columns=["left", "right", "top", "bottom"])
    return alt.Chart(rows).mark_rect(color=GOLD, cornerRadius=4).encode(x2="right:Q", y2="bottom:Q", **_xy(place, "left", "top"))


def _heads(got: pd.DataFrame, place: _Place) -> list[alt.Chart]:
    first = got.drop_duplicates("doc_id")
    left = [place.documents.index(d) * place.step + 4 for d in first["doc_id"]]
    names = [{"x": x, "y": 14, "text": f"{r}  {t}", "colour": INK} for x, r, t in zip(left, first["doc_rank"], first["title"])]
    kinds = [{"x": x, "y": 29, "text": "gold passage" if g else "passage", "colour": MUTED} for x, g in zip(left, first["is_gold"])]
    return [_texts(names, place, fontWeight="bold", fontSize=11, limit=0.84 * (place.step - BETWEEN - 8)), _texts(kinds, place, fontSize=10)]


def _boxes(place: _Place) -> list[alt.Chart]:
    """The cards: number, what it is shown after, lines of text; a frame and a star where the answer is."""
    c = place.cards
    look = {"stroke": [TIED if h else FAINT for h in c["holds_answer"]], "wide": [1.8 if h else 0.8 for h in c["holds_answer"]]}
    edge = c[["left", "right", "top", "bottom"]].assign(**look)
    boxes = alt.Chart(edge).mark_rect(fill=PAPER, cornerRadius=3).encode(
        x2="right:Q", y2="bottom:Q", stroke=alt.Stroke("stroke:N", scale=None), strokeWidth=alt.StrokeWidth("wide:Q", scale=None),
        **_xy(place, "left", "top"))
    after = [f"  shown after {n:.0f}" if pd.notna(n) else "" for n in c["after"]]
    numbers = [{"x": r.left + 6, "y": r.top + 10, "text": f"{r.number}{then}", "colour": MUTED} for r, then in zip(c.itertuples(), after)]
    lines = [{"x": r.left + 6, "y": r.top + 22 + LINE * k, "text": t, "colour": INK} for r in c.itertuples() for k, t in enumerate(r.lines)]
    stars = c[c["holds_answer"]].assign(x=lambda t: t["right"] - 11, y=lambda t: t["top"] + 10)
    star = alt.Chart(stars[["x", "y"]]).mark_point(shape=STAR, size=110, filled=True, opacity=1, color=TIED).encode(**_xy(place, "x", "y"))
    return [boxes, _texts(numbers, place, fontSize=9.5, fontWeight="bold"), _texts(lines, place, fontSize=9.5), *([star] if len(stars) else [])]


def _fabric(links: pd.DataFrame, entities: pd.DataFrame, place: _Place) -> list[alt.Chart]:
    """Below the cards: a thin column a claim, under its number; a row an entity, from its first claim to its last."""
    c = place.cards
    room = (WIDTH - NAMES) / len(c)
    at = {(r.doc_id, r.claim): NAMES + room * (k + 0.5) for k, r in enumerate(c.itertuples())}
    bottom = place.foot + ROW * len(place.entities)
    heads = [{"x": at[r.doc_id, r.claim], "y": place.foot - 10, "text": str(r.number), "colour": TIED if r.holds_answer else MUTED} for r in c.itertuples()]
    posts = [{"x": at[r.doc_id, r.claim], "top": place.foot, "bottom": bottom - 4, "colour": TIED if r.holds_answer else FAINT} for r in c.itertuples()]
    out = [alt.Chart(pd.DataFrame(posts)).mark_rule().encode(y2="bottom:Q", color=alt.Color("colour:N", scale=None), **_xy(place, "x", "top")),
           _texts([{"x": 0, "y": place.foot - 10, "text": "entity, and its claims", "colour": MUTED}], place, fontSize=10, limit=NAMES - 6),
           _texts(heads, place, fontSize=10, align="center", fontWeight="bold")]
    if not place.entities:
        return out
    spelt = dict(zip(entities["entity"], entities["name"]))
    row = {e: place.foot + ROW * (k + 0.5) - 2 for k, e in enumerate(place.entities)}
    dots = [{"x": at[r.doc_id, r.claim], "y": row[r.entity], "fill": INK if r.full else PAPER} for r in links.itertuples() if r.entity in row]
    dots = pd.DataFrame(dots)
    ends = dots.groupby("y")["x"].agg(["min", "max"]).reset_index()
    bars = alt.Chart(ends).mark_rule(color=INK, strokeWidth=1.6).encode(x2="max:Q", **_xy(place, "min", "y"))
    names = [{"x": 0, "y": y, "text": spelt[e], "colour": INK} for e, y in row.items()]
    return [*out, bars, _dots(dots, place), _texts(names, place, fontSize=11, limit=NAMES - 10)]


def _dots(dots: pd.DataFrame, place: _Place) -> alt.Chart:
    return alt.Chart(dots).mark_point(size=52, filled=True, opacity=1, stroke=INK, strokeWidth=1.4).encode(
        fill=alt.Fill("fill:N", scale=None), **_xy(place, "x", "y"))


def _key(place: _Place) -> list[alt.Chart]:
    y = place.height - 12
    dots = pd.DataFrame([{"x": 5, "y": y, "fill": INK}, {"x": 188, "y": y, "fill": PAPER}])
    star = alt.Chart(pd.DataFrame([{"x": 462, "y": y}])).mark_point(shape=STAR, size=110, filled=True, opacity=1, color=TIED).encode(**_xy(place, "x", "y"))
    words_of = ((14, "the claim names the entity"), (197, "it means it: by a pronoun or a short name"), (473, "the claim holds the answer"))
    texts = [{"x": x, "y": y, "text": t, "colour": MUTED} for x, t in words_of]
    return [_dots(dots, place), star, _texts(texts, place, fontSize=10.5)]
