"""What the unjudged may hide: a list's score as it looks, as it is, and the range left open (document 001, "Evaluation labels are part of the system")."""

from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib import wording
from lib.charts import INK, MUTED, PAPER, RANKERS, SPARE, NothingToDraw, in_order, ready
from lib.judgements_hidden import ALL, EVERY

ROOM, STEP, BETWEEN = 400, 22, 16  # pixels: the axis, a list's row, the space between two slices
SHOWN = ("judged", "ndcg_as_zero", "ndcg_condensed", "ndcg_low", "ndcg_high", "ndcg_full")


def hidden_scores(table: pd.DataFrame, reversals: pd.DataFrame, lists: tuple[str, str], tier: str | None = None) -> alt.LayerChart:
    """A row a slice (or data set) and list: nDCG with the unjudged as zero (hollow), on all judgements (filled), and what the unjudged leave open (bar).

    ``table``: judgement_unjudged of one ``judged_by`` and depth; ``reversals``: judgement_reversals of the same, whose measure ``base`` (treatment and
    control: ``lists``) speaks in the title. Raises NothingToDraw for no row, or several set-ups.
    """
    df = _rows(table, lists)
    rows = list(dict.fromkeys(df["name"]))
    height = len(df) * STEP + (len(rows) - 1) * BETWEEN
    y = lambda field="at": alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[0, height], reverse=True, nice=False))  # noqa: E731
    axis = alt.Axis(tickCount=6, format="~g", grid=True)
    x = lambda field: alt.X(f"{field}:Q", title=f"mean nDCG@{df['cutoff'].iloc[0]}", axis=axis, scale=alt.Scale(domain=[0, 1], nice=False))  # noqa: E731
    base = alt.Chart(df).encode(y=y(), color=alt.Color("colour:N", scale=None))
    reach = base.mark_rule(strokeWidth=1.4, opacity=0.8).encode(x=x("low_low"), x2="high_high:Q")
    bars = base.mark_bar(height=11, opacity=0.28).encode(x=x("ndcg_low"), x2="ndcg_high:Q")
    span = base.mark_rule(strokeWidth=3).encode(x=x("full_low"), x2="full_high:Q")
    full = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=x("ndcg_full"), shape=alt.Shape("shape:N", scale=None), fill=alt.Fill("colour:N", scale=None)
    )
    zero = base.mark_point(filled=True, size=80, opacity=1, strokeWidth=1.8).encode(
        x=x("ndcg_as_zero"), shape=alt.Shape("shape:N", scale=None), fill=alt.value(PAPER), stroke=alt.Stroke("colour:N", scale=None)
    )
    names = (
        alt.Chart(df.drop_duplicates("name"))
        .mark_text(align="right", dx=-64, fontWeight="bold", color=INK)
        .encode(y=y("middle"), x=alt.value(0), text="name:N")
    )
    which = base.mark_text(align="right", dx=-10).encode(x=alt.value(0), text="ranker:N")
    short = base.mark_tick(thickness=2, height=13, orient="vertical").encode(x=x("ndcg_condensed"))
    told = [base.mark_text(align="left", dx=dx).encode(x=alt.value(ROOM), text=f"{c}:N", color=alt.value(INK)) for c, dx in (("told", 14), ("known", 74))]
    heads = [_head(text, dx) for text, dx in (("judged", 14), ("defined for", 74))]
    one = df.iloc[0]
    title = words.headed(
        finding(df, reversals, lists),
        f"{_where(df)}{words.counted(df.loc[df['slice'] == EVERY, 'n'])} · {words.tier_of(table, tier)}",
        f"Judged: the first {one['judged_depth']} passages of {one['judged_by']}" if one["judged_by"] != ALL else "On all judgements at hand",
        "Hollow: the unjudged count 0 · tick: they are left out (both where a relevant passage is known)",
        f"Filled: on all judgements at hand, with its 95{words.GAP}% bootstrap interval",
        f"Pale: what the unjudged of the pools (depth {one['depth']}) could make of it · thin: with 95{words.GAP}% intervals",
        width=700,
    )
    return alt.layer(bars, reach, span, short, full, zero, names, which, *told, *heads).properties(width=ROOM, height=height, title=title)


def _head(text: str, dx: int) -> alt.Chart:
    return alt.Chart(pd.DataFrame([{"t": text}])).mark_text(align="left", dx=dx, dy=-10, color=MUTED).encode(x=alt.value(ROOM), y=alt.value(0), text="t:N")


def _rows(table: pd.DataFrame, lists: tuple[str, str]) -> pd.DataFrame:
    setups = table[["judged_by", "judged_depth", "cutoff", "depth"]].drop_duplicates()
    if len(setups) > 1:
        raise NothingToDraw(f"hidden_scores: {len(setups)} set-ups, a figure shows one; keep one judged_by and depth")
    mine = table[table["ranker"].isin(lists) & table["measure"].isin(SHOWN)]
    several = mine["dataset"].nunique() > 1
    mine = mine[mine["slice"] == EVERY] if several else mine
    index = ["dataset", "slice", "ranker", "judged_by", "judged_depth", "cutoff", "depth"]
    wide = {c: mine.pivot(index=index, columns="measure", values=c) for c in ("estimate", "ci_low", "ci_high", "n")}
    if mine.empty or set(SHOWN) - set(wide["estimate"]):
        raise NothingToDraw(f"hidden_scores: no row has {', '.join(SHOWN)} for {' and '.join(lists)}")
    df = wide["estimate"].assign(
        low_low=wide["ci_low"]["ndcg_low"].fillna(wide["estimate"]["ndcg_low"]),
        high_high=wide["ci_high"]["ndcg_high"].fillna(wide["estimate"]["ndcg_high"]),
        full_low=wide["ci_low"]["ndcg_full"].fillna(wide["estimate"]["ndcg_full"]),
        full_high=wide["ci_high"]["ndcg_full"].fillna(wide["estimate"]["ndcg_full"]),
        n=wide["n"]["ndcg_full"],
        n_known=wide["n"]["ndcg_as_zero"],
    )
    df = df.dropna(subset=["ndcg_full", "ndcg_low"]).reset_index()
    if df.empty:
        raise NothingToDraw("hidden_scores: no list has a question with a known relevant passage")
    names = [wording.named(d) if several else "all questions" if s == EVERY else s.replace("_", " ") for d, s in zip(df["dataset"], df["slice"])]
    looks = {r: RANKERS.get(r, SPARE) for r in lists}
    order = {r: at for at, r in enumerate(in_order(set(lists), RANKERS))}
    df = df.assign(
        name=names,
        colour=[looks[r].colour for r in df["ranker"]],
        shape=[looks[r].shape for r in df["ranker"]],
        told=[words.percent(j) for j in df["judged"]],
        known=[f"{int(k)} of {int(n)}" for k, n in zip(df["n_known"], df["n"])],
        last=df["slice"] == EVERY,
        turn=df["ranker"].map(order),
    )
    df = df.sort_values(["last", "dataset", "slice", "turn"], ignore_index=True)
    group = pd.factorize(df["name"])[0]
    df["at"] = [STEP * (i + 0.5) + BETWEEN * g for i, g in enumerate(group)]
    df["middle"] = df.groupby("name")["at"].transform("mean")
    return ready(df.drop(columns=["last", "turn"]), "hidden_scores", "name", "ranker")


def _where(df: pd.DataFrame) -> str:
    return f"{wording.named(df['dataset'].iloc[0])} · " if df["dataset"].nunique() == 1 else ""


def finding(df: pd.DataFrame, reversals: pd.DataFrame, lists: tuple[str, str]) -> str:
    """The title: what the difference of the two lists looks like on the judgements that were read, and what it is on all of them.

    Of several data sets only the number on which the two verdicts (wins, loses, undecided) differ.
    """
    treatment, control = lists
    said = {
        "wins": f"{treatment} beats {control}",
        "loses": f"{treatment} loses to {control}",
        "undecided": f"{treatment} and {control} cannot be told apart",
    }
    rows = reversals[(reversals["measure"] == "base") & (reversals["treatment"] == treatment) & (reversals["control"] == control)].dropna(
        subset=["measured", "truth"]
    )
    pairs = [(words.verdict(r.measured_low, r.measured_high), words.verdict(r.truth_low, r.truth_high)) for r in rows.itertuples()]
    wide = df[df["slice"] == EVERY] if (df["slice"] == EVERY).any() else df
    open_ = f"the unjudged leave up to {100 * (wide['ndcg_high'] - wide['ndcg_low']).max():.0f} points of nDCG open"
    if not pairs:
        return open_[0].upper() + open_[1:]
    if len(pairs) > 1:
        wrong = sum(seen != true for seen, true in pairs)
        said = f"misjudges {treatment} against {control} on {wrong}" if wrong else f"gets {treatment} against {control} right on all"
        return f"What was read {said}{' of' * bool(wrong)} {len(pairs)} data sets; {open_}"
    seen, true = pairs[0]
    both = f"On what was read and on all judgements {said[true]}" if seen == true else f"On what was read {said[seen]}; on all judgements {said[true]}"
    return f"{both}. {open_[0].upper()}{open_[1:]}"
