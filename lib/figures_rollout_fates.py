"""The fates of gold passages before and after a change: which were never retrieved, filtered, left low, demoted, shown, promoted."""

from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib import wording
from lib.charts import INK, MUTED, PAPER, PERCENT, NothingToDraw, ready
from lib.figures import note
from lib.rollout_fates import DEMOTED, FILTERED, LOW, NEVER, PROMOTED, SHOWN, VISIBLE

FILLS = {SHOWN: "#0B3C6F", PROMOTED: "#A9C4E4", DEMOTED: "#C2500D", LOW: "#EDBF9C", FILTERED: "#B9BEC4", NEVER: "#F1F2F4"}
SIGNS = {PROMOTED: "+", DEMOTED: "−"}  # before their numbers: told apart without any colour
MOST = 5  # slices drawn beside all: those with most questions
SLICE, SIDE, BAR = 62.0, 25.0, 15.0  # pixels: a slice, from its bar before to that after, a bar


def passage_fates(shares: pd.DataFrame, tier: str | None = None) -> alt.LayerChart:
    """Two bars a slice, before and after: the share of gold passages with each fate; the black mark is the share seen, with its 95 % interval.

    ``shares``: `rollout_fates.shares` of both sides. Of each data set ``all`` and the ``MOST`` slices with most questions; the subtitle counts the others.
    Raises NothingToDraw without a passage.
    """
    rows, left_out = largest(shares[shares["n"] > 0])
    if rows.empty:
        raise NothingToDraw("passage_fates: no question has a gold passage")
    keys = list(dict.fromkeys(zip(rows["dataset"], rows["slice"])))
    keys.sort(key=lambda k: (k[0], k[1] == "all", k[1]))
    several, line = len({d for d, _ in keys}) > 1, {key: i for i, key in enumerate(keys)}
    rows = rows.assign(y=[SLICE * line[k] + SIDE * (w == "after") for k, w in zip(zip(rows["dataset"], rows["slice"]), rows["when"])])
    parts = rows[rows["fate"] != VISIBLE].assign(at=lambda d: d["fate"].map(list(FILLS).index)).sort_values(["y", "at"])
    end = parts.groupby("y")["estimate"].cumsum()
    parts = parts.assign(left=end - parts["estimate"], right=end, bottom=parts["y"] + BAR, middle=end - parts["estimate"] / 2, centre=parts["y"] + BAR / 2,
                         fill=parts["fate"].map(FILLS), ink=[PAPER if f in (SHOWN, DEMOTED) else INK for f in parts["fate"]],
                         label=[SIGNS.get(f, "") + str(p) if share > 0.034 else "" for f, p, share in zip(parts["fate"], parts["passages"], parts["estimate"])])
    seen = rows[rows["fate"] == VISIBLE].assign(centre=lambda d: d["y"] + BAR + 4)
    seen[["ci_low", "ci_high"]] = seen[["ci_low", "ci_high"]].apply(lambda c: c.fillna(seen["estimate"]))
    height = SLICE * len(keys)
    x = lambda field: alt.X(f"{field}:Q", title="share of gold passages (their number in the bar)", axis=PERCENT, scale=alt.Scale(domain=[0, 1], nice=False))
    y = lambda field: alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[height - 12, -20], nice=False))
    base = alt.Chart(ready(parts[["left", "right", "y", "bottom", "middle", "centre", "fill", "ink", "label", "fate"]], "passage_fates", "left"))
    bars = base.mark_rect(stroke=PAPER, strokeWidth=1).encode(x=x("left"), x2="right:Q", y=y("y"), y2="bottom:Q", fill=alt.Fill("fill:N", scale=None))
    inside = base.mark_text(fontSize=9.5).encode(x=x("middle"), y=y("centre"), text="label:N", color=alt.Color("ink:N", scale=None))
    marks = alt.Chart(ready(seen[["ci_low", "ci_high", "estimate", "centre"]], "passage_fates", "estimate"))
    rule = marks.mark_rule(strokeWidth=1.6, color=INK).encode(x=x("ci_low"), x2="ci_high:Q", y=y("centre"))
    dot = marks.mark_point(filled=True, size=30, color=INK, opacity=1, stroke=PAPER).encode(x=x("estimate"), y=y("centre"))
    names = [(f"{wording.named(d)}: " if several else "") + ("all questions" if s == "all" else s.replace("_", " ")) for d, s in keys]
    titles = pd.DataFrame({"y": [SLICE * i + 20 for i in range(len(keys))], "name": names})
    left = alt.Chart(titles).mark_text(align="right", dx=-58, fontSize=11.5, color=INK).encode(x=alt.value(0), y=y("y"), text="name:N")
    when = alt.Chart(rows.drop_duplicates("y").assign(centre=lambda d: d["y"] + BAR / 2)[["when", "centre"]]).mark_text(
        align="right", dx=-8, fontSize=9.5, color=MUTED).encode(x=alt.value(0), y=y("centre"), text="when:N")
    there = [f for f in FILLS if parts.loc[parts["fate"] == f, "passages"].sum()]
    said = [f"{f} ({SIGNS[f]})" if f in SIGNS else f for f in there]
    places = [sum(9.0 + 6.3 * len(f) + 22 for f in said[:i]) for i in range(len(said))]
    boxes = {"px": places, "to": [p + 10 for p in places], "text": [p + 14 for p in places], "fate": said, "fill": [FILLS[f] for f in there]}
    legend = alt.Chart(pd.DataFrame(boxes))
    across = lambda field: alt.X(f"{field}:Q", axis=None, scale=alt.Scale(domain=[0, 560], nice=False))
    fill = alt.Fill("fill:N", scale=None)
    key = [legend.mark_rect(stroke=MUTED, strokeWidth=0.5).encode(x=across("px"), x2="to:Q", y=alt.value(0), y2=alt.value(10), fill=fill),
           legend.mark_text(align="left", baseline="middle", fontSize=10.5, color=MUTED).encode(x=across("text"), y=alt.value(5), text="fate:N")]
    title = words.headed(fates_finding(shares), f"{words.tier_of(shares, tier)} · {words.counted(seen['n'])} a slice",
                         f"Mark under a bar: share seen (shown or promoted), 95{words.GAP}% interval over questions",
                         f"Slices with fewer questions, not drawn: {left_out} (table release_fates)" if left_out else "", width=700)
    picture = alt.layer(bars, inside, rule, dot, left, when).properties(width=540, height=height + 8)
    return alt.vconcat(alt.layer(*key).properties(width=560, height=12), picture, spacing=4).properties(title=title)


def fates_or_note(shares: pd.DataFrame, tier: str | None = None, why: str = "") -> alt.TopLevelMixin:
    """`passage_fates`, or a note (``why``: in words) where there is nothing to draw."""
    try:
        return passage_fates(shares, tier)
    except NothingToDraw:
        return note(f"passage fates: not drawn, since {why or 'no question has a gold passage'}")


def largest(shares: pd.DataFrame, most: int = MOST) -> tuple[pd.DataFrame, int]:
    """(the rows of ``all`` and of each data set's ``most`` slices with most questions, how many slices are left out); equal ones by name.

    >>> table = pd.DataFrame({"dataset": "d", "slice": ["all", "a", "b", "c"], "n": [9, 2, 4, 3]})
    >>> largest(table, 2)[0]["slice"].tolist(), largest(table, 2)[1]
    (['all', 'b', 'c'], 1)
    """
    sizes = shares[shares["slice"] != "all"].groupby(["dataset", "slice"])["n"].max().reset_index()
    sizes = sizes.sort_values(["dataset", "n", "slice"], ascending=[True, False, True])
    out = sizes[sizes.groupby("dataset").cumcount() >= most]
    left = set(zip(out["dataset"], out["slice"]))
    return shares[[key not in left for key in zip(shares["dataset"], shares["slice"])]], len(left)


def fates_finding(shares: pd.DataFrame) -> str:
    """The title: gold passages promoted and demoted, and the share seen before and after.

    >>> rows = [("d", "all", "after", "promoted", 0.1, 11), ("d", "all", "after", "demoted", 0.2, 23), ("d", "all", "before", "seen", 0.8, 80)]
    >>> columns = ["dataset", "slice", "when", "fate", "estimate", "passages"]
    >>> fates_finding(pd.DataFrame([*rows, ("d", "all", "after", "seen", 0.7, 70)], columns=columns)).replace(words.GAP, " ")
    'The new order promotes 11 gold passages and demotes 23: 70 % are shown, 80 % were'
    """
    whole = shares[shares["slice"] == "all"]
    sets = list(dict.fromkeys(whole["dataset"]))
    out = []
    for dataset in sets:
        rows = whole[whole["dataset"] == dataset].set_index(["when", "fate"])
        up, down = (int(rows.at[("after", f), "passages"]) for f in (PROMOTED, DEMOTED))
        now, then = (words.percent(rows.at[(w, VISIBLE), "estimate"]) for w in ("after", "before"))
        if len(sets) > 1:
            out.append(f"{wording.named(dataset)} {up} and {down} ({then} to {now} shown)")
        else:
            out.append(f"The new order promotes {up} gold passages and demotes {down}: {now} are shown, {then} were")
    return ("Gold passages promoted and demoted: " if len(sets) > 1 else "") + "; ".join(out)


