"""The contest drawn: every packer and rival against submod, a panel a data set, with the tokens each used beside its difference (SPEC 4)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, LOOKS, MUTED, PAPER, SPARE, ChartError, NothingToDraw, ready, row_axis
from lib.contest import BOUNDS, POOLED
from lib.wording import named as spoken

WIDTH, ROW = 256, 21
SIGNED = "datum.value == 0 ? '0' : (datum.value < 0 ? '−' : '+') + format(abs(100 * datum.value), '.0f')"
CALLED = {"submod_unit_cost": "submod, unit cost", "submod_both": "submod, both greedies", "submod_dense": "submod, dense", "adagres_dense": "adagres, dense",
          "submod_cross_encoder": "submod, cross-encoder", "naive_cross_encoder": "naive, cross-encoder"}
REFERENCES = ("gold", *BOUNDS)  # they know what no packer knows


def contest_figure(table: pd.DataFrame, budget: int = 160, measure: str = "answer_in_context_defined", control: str = "submod",
                   leader: str = "tuned", tier: str | None = None) -> alt.VConcatChart:
    """Difference from ``control`` with its paired interval, an arm a row, sorted by the pooled (else the only) panel; tokens with their difference beside.

    ``table``: the packer_contest table. A mark is filled where its interval excludes 0. Arms that packed a part of the questions carry a star. Arms that
    know the answer are left out. Raises ChartError; NothingToDraw where no arm has a difference.
    """
    here = (table["measure"] == measure) & (table["budget"] == budget) & ~table["policy"].isin(REFERENCES)
    df = table[here].dropna(subset=["delta", "delta_low", "delta_high"])
    if df.empty:
        raise NothingToDraw(f"contest_figure: no arm has a difference from {control} on {measure} at {budget} tokens")
    df = ready(df, "contest_figure", "dataset", "policy", "delta", "delta_low", "delta_high", "n", "part")
    tokens = table[(table["measure"] == "n_tokens") & (table["budget"] == budget)].set_index(["dataset", "policy"])
    if not set(zip(df["dataset"], df["policy"])) <= set(tokens.index):
        raise ChartError("contest_figure: the table needs n_tokens of every arm it draws; make it with lib.contest.contest and its own measures")
    panels = [d for d in [POOLED, *sorted(set(df["dataset"]) - {POOLED})] if d in set(df["dataset"])]
    first = df[df["dataset"] == panels[0]].sort_values(["delta", "policy"], ascending=[False, True])
    order = [*first["policy"], *sorted(set(df["policy"]) - set(first["policy"]))]
    df = _dressed(df, tokens)
    reach = 1.08 * max(df["delta_high"].max(), -df["delta_low"].min(), 0.01)
    made = [_panel(df[df["dataset"] == d], d, order, reach, control, last=d == panels[-1]) for d in panels]
    star = "* packed a part of the questions, compared on these" if (df["part"] != "all").any() else ""
    title = words.headed(_finding(df[df["dataset"] == panels[0]], tokens.loc[panels[0]], leader, control, budget),
                         f"Points of {measure} gained on {control} at {budget} tokens · {words.tier_of(table, tier)}",
                         f"Bars: 95{words.GAP}% paired bootstrap intervals over questions; filled where they exclude 0. {star}", width=740)
    return alt.vconcat(*made, spacing=16, title=title)


def _finding(df: pd.DataFrame, tokens: pd.DataFrame, leader: str, control: str, budget: int) -> str:
    rows = df.set_index("policy")
    who = leader if leader in rows.index else rows["delta"].idxmax()
    r, t = rows.loc[who], tokens.loc[who]
    where = "" if len(set(df["dataset"]) - {POOLED}) == 0 else f"On {spoken(df['dataset'].iloc[0])}, "
    cost = {"wins": "with more tokens", "loses": "with fewer tokens",
            "undecided": "with as many tokens, as far as can be told"}[words.verdict(t["delta_low"], t["delta_high"])]
    said = {"wins": f"{where}{who} keeps {100 * r['delta']:.1f} points more answers than {control} at {budget} tokens, {cost}",
            "loses": f"{where}{who} keeps {-100 * r['delta']:.1f} points fewer answers than {control} at {budget} tokens, {cost}",
            "undecided": f"{where}{who} cannot be told from {control} at {budget} tokens ({words.signed(100 * r['delta'], 1)} points), {cost}"}
    text = said[words.verdict(r["delta_low"], r["delta_high"])]
    rivals = rows.drop(index=who)
    best = rivals["delta"].idxmax() if len(rivals) else None
    return text if best is None else f"{text}; the next is {CALLED.get(best, best)} with {words.signed(100 * rivals.loc[best, 'delta'], 1)}"


def _dressed(df: pd.DataFrame, tokens: pd.DataFrame) -> pd.DataFrame:
    clear = (df["delta_low"] > 0) | (df["delta_high"] < 0)
    colour = [LOOKS.get(p, LOOKS.get(p.split("_")[0], SPARE)).colour for p in df["policy"]]
    used = [tokens.loc[(d, p)] for d, p in zip(df["dataset"], df["policy"])]
    numbers = [f"{_one(d)} [{_one(a)}, {_one(b)}]" for d, a, b in zip(100 * df["delta"], 100 * df["delta_low"], 100 * df["delta_high"])]
    told = [f"{t['estimate']:.0f} ({_one(t['delta'])} [{_one(t['delta_low'])}, {_one(t['delta_high'])}])" for t in used]
    return df.assign(row=[CALLED.get(p, p) + ("*" if part != "all" else "") for p, part in zip(df["policy"], df["part"])], colour=colour,
                     fill=[c if yes else PAPER for c, yes in zip(colour, clear)], numbers=numbers, told=told)


def _one(value: float) -> str:
    return words.signed(value, 1)


def _panel(df: pd.DataFrame, dataset: str, order: list[str], reach: float, control: str, last: bool) -> alt.LayerChart:
    place = {p: k for k, p in enumerate(order)}
    df = df.sort_values("policy", key=lambda s: s.map(place), ignore_index=True)
    y = alt.Y("row:N", sort=list(df["row"]), title=None, axis=row_axis(["submod, cross-encoder*"]))
    x = alt.X("delta_low:Q", title=f"points more than {control}" if last else None, scale=alt.Scale(domain=[-reach, reach], nice=False),
              axis=alt.Axis(tickCount=6, labelExpr=SIGNED))
    base = alt.Chart(df).encode(y=y)
    colour = alt.Color("colour:N", scale=None)
    layers = [alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color=INK).encode(x="zero:Q"),
              base.mark_rule(strokeWidth=2).encode(x=x, x2="delta_high:Q", color=colour),
              base.mark_point(size=64, opacity=1, strokeWidth=1.8).encode(x="delta:Q", color=colour, fill=alt.Fill("fill:N", scale=None)),
              base.mark_text(align="left", dx=14, fontSize=11).encode(x=alt.value(WIDTH), text="numbers:N"),
              base.mark_text(align="left", dx=142, fontSize=11, color=MUTED).encode(x=alt.value(WIDTH), text="told:N")]
    title = f"all data sets, n = {int(df['n'].max()):,}" if dataset == POOLED else f"{spoken(dataset)}, n = {int(df['n'].max()):,}"
    heads = alt.Chart(pd.DataFrame([{"points": f"points [95{words.GAP}%]", "tokens": f"tokens (difference [95{words.GAP}%])"}]))
    layers += [heads.mark_text(align="left", baseline="bottom", dx=dx, dy=-6, fontSize=10.5, color=MUTED).encode(
        x=alt.value(WIDTH), y=alt.value(0), text=f"{text}:N")
               for text, dx in (("points", 14), ("tokens", 142))]
    head = alt.TitleParams(title, anchor="start", frame="group", fontSize=12.5, fontWeight="bold", color=INK, offset=6)
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(df) + 6, title=head)
