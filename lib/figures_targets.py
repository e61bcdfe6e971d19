"""What each training target teaches: a row a variant, a panel a kind of distractor, intervals drawn (document 001, SPEC 11)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import FAINT, INK, MUTED, PAPER, ChartError, ready, row_axis
from lib.targets_results import ORDER, whole
from lib.wording import named

WIDTH, ROW, APART = 122, 34, 7  # pixels: a panel, a row, half the gap between the two marks of a row
NAMES = {"document_easy": "document, easy", "document_mixed": "document, mixed", "support_easy": "support, easy", "support_near": "support, near",
         "support_mixed": "support, mixed", "untrained": "before training", "first sentence": "the first sentence"}
PANELS = {"sibling": "its passage’s other sentences", "later": "the same, where it does not come first", "near": "the question’s other passages",
          "easy": "other questions’ passages"}
HOME, ABROAD = "#0B3C6F", "#CF5A12"
LEVEL = 0.05
OFTEN = {"wins": "more often than", "loses": "less often than", "undecided": "about as often (undecided) as"}
SAME, OTHER, OPEN = ", also where it does not come first", ", the other way round where it does not come first", ", undecided where it does not come first"
LATER = {("wins", "wins"): SAME, ("loses", "loses"): SAME, ("wins", "loses"): OTHER, ("loses", "wins"): OTHER,
         ("wins", "undecided"): OPEN, ("loses", "undecided"): OPEN}
NEEDED = ("where", "dataset", "variant", "kind", "estimate", "ci_low", "ci_high", "n")


def targets(table: pd.DataFrame, tier: str | None = None) -> alt.HConcatChart:
    """How often the support scores above a distractor of each kind: held-out questions filled, the sample corpus hollow, intervals over questions.

    ``table``: targets. The title says what the label and the negatives change on held-out questions, after Holm. Raises ChartError; NothingToDraw
    where no variant has an interval.
    """
    rows = table[(table["measure"] == "auc") & (table["control"] == "none") & table["kind"].isin(list(PANELS)) & table["variant"].isin(list(NAMES))]
    rows = rows[whole(rows)].dropna(subset=["estimate", "ci_low", "ci_high"])
    df = ready(rows, "targets", *NEEDED)
    if df.duplicated(["where", "variant", "kind"]).any():
        raise ChartError("targets: a variant has several rows of one kind and place; hand one tier's table")
    names = [n for n in ORDER if n in set(df["variant"])]
    df = df.assign(name=df["variant"].map(NAMES), home=df["where"] == "held out")
    df["colour"] = df["home"].map({True: HOME, False: ABROAD})
    df["fill"] = [HOME if home else PAPER for home in df["home"]]
    df["shape"] = df["home"].map({True: "circle", False: "diamond"})
    low = max(0.0, min(0.45, float(df["ci_low"].min()) - 0.02))
    panels = [_panel(df, kind, [NAMES[n] for n in names], low, first=at == 0) for at, kind in enumerate(k for k in PANELS if k in set(df["kind"]))]
    title = words.headed(finding(table), *_notes(df, table, tier), width=720)
    return alt.hconcat(*panels, spacing=14).properties(title=title)


def _panel(df: pd.DataFrame, kind: str, names: list[str], low: float, first: bool) -> alt.LayerChart:
    here = df[df["kind"] == kind]
    y = alt.Y("name:N", sort=names, title=None, axis=row_axis(names, labels=first) if first else None, scale=alt.Scale(domain=names))
    x = alt.X("estimate:Q", title=None, scale=alt.Scale(domain=[low, 1.0], nice=False),
              axis=alt.Axis(values=[v for v in (0.25, 0.5, 0.75, 1.0) if v >= low], format=".2~f"))
    chance = alt.Chart(pd.DataFrame([{"half": 0.5}])).mark_rule(color=MUTED, strokeDash=[3, 3]).encode(x="half:Q")
    shades = alt.Chart(pd.DataFrame({"name": names[-2::-2]})).mark_rect(color=FAINT, opacity=0.25).encode(y=y)
    marks = []
    for home, offset in ((True, -APART), (False, APART)):
        part = alt.Chart(here[here["home"] == home]).encode(y=y)
        bar = part.mark_rule(strokeWidth=2, yOffset=offset).encode(x=alt.X("ci_low:Q", title=None), x2="ci_high:Q", color=alt.Color("colour:N", scale=None))
        point = part.mark_point(filled=True, size=55, opacity=1, strokeWidth=1.8, yOffset=offset).encode(
            x=x, fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("colour:N", scale=None), shape=alt.Shape("shape:N", scale=None))
        marks += [bar, point] if (here["home"] == home).any() else []
    head = alt.TitleParams(words.wrapped(PANELS[kind], 17), fontSize=12, fontWeight="normal", color=INK, anchor="middle", frame="group", offset=8,
                           lineHeight=15)
    return alt.layer(shades, chance, *marks).properties(width=WIDTH, height=ROW * len(names), title=head)


def _notes(df: pd.DataFrame, table: pd.DataFrame, tier: str | None) -> list[str]:
    places = []
    for home, mark in ((True, "filled circles: questions kept out of training"), (False, "hollow diamonds: {}, never trained on")):
        part = df[df["home"] == home]
        if len(part):
            places.append(f"{mark.format(named(part['dataset'].iloc[0]))} ({words.counted(part['n'])})")
    return ["Share of pairs in which a sentence with the support scores above one of each kind · dashed: chance",
            *(p[0].upper() + p[1:] for p in places),
            f"Rows: what is called right, what is called wrong · bars: 95{words.GAP}% bootstrap intervals · {words.tier_of(table, tier)}"]


def finding(table: pd.DataFrame) -> str:
    """The title: what a label on the support changes among a passage's sentences, what near negatives change among a question's passages.

    >>> row = {"where": "held out", "dataset": "all", "variant": "support_mixed", "control": "document_mixed", "measure": "auc", "kind": "sibling",
    ...        "estimate": 0.1, "ci_low": 0.05, "ci_high": 0.15, "p_holm": 0.01}
    >>> finding(pd.DataFrame([row]))
    'Labels on the support find it among its passage’s sentences more often than labels on the whole passage'
    """
    rows = table[(table["measure"] == "auc") & (table["where"] == "held out")]
    rows = rows[whole(rows)].dropna(subset=["estimate", "ci_low", "ci_high"])
    label = _verdict(rows, "support_mixed", "document_mixed", "sibling")
    later = _verdict(rows, "support_mixed", "document_mixed", "later", corrected=False)
    near = _verdict(rows, "support_near", "support_easy", "near")
    said = []
    if label:
        how = f"{OFTEN[label]} labels on the whole passage" + ("" if label == "undecided" or not later else LATER[label, later])
        said.append(f"labels on the support find it among its passage’s sentences {how}")
    if near:
        said.append(f"near negatives find it among the question’s passages {OFTEN[near]} easy ones")
    text = "; ".join(said) or "What a reranker tells apart, by what it was taught"
    return text[0].upper() + text[1:]


def _verdict(rows: pd.DataFrame, variant: str, control: str, kind: str, corrected: bool = True) -> str | None:
    """wins, loses or undecided of a contrast, after Holm where it is one of the planned; None where it is not there."""
    at = rows[(rows["variant"] == variant) & (rows["control"] == control) & (rows["kind"] == kind)]
    if at.empty:
        return None
    r = at.iloc[0]
    return "undecided" if corrected and not r["p_holm"] < LEVEL else words.verdict(r["ci_low"], r["ci_high"])
