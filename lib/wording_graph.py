"""What the graph list's tables say, in sentences built from them (notebook 01; SPEC 2, 12)."""
from __future__ import annotations

import pandas as pd

from lib import tables
from lib.chart_words import listed, signed, verdict
from lib.graph_list_choices import CHOSEN
from lib.graph_list_table import ALL_HOPS
from lib.pool_union import H, V
from lib.wording import named

FIRST_FIVE = {"recall_at_5": "recall@5", "last_hop_hit_at_5": "last hop in the first 5"}
SHORT = {"recall_at_5": "recall@5", "last_hop_hit_at_5": "last hop"}
FIRST_PLACE = "last_hop_hit_at_1"
FEWEST = 10  # questions of a number of hops; an interval over fewer says nothing
LEVEL = 0.05
AS_CHOSEN = "as chosen"
CHANGES = {"relation 0.0": "relation edges off", "topic False": "topics off", "specific False": "specificity off", "synonym 1.1": "synonym edges off",
           "link 1.1": "no stand-in for a name the graph lacks", "passage_share 0.0": "no passages among the starts",
           "passage_share 1.0": "passages alone as starts", "seeds triples": "starts at the nearest triples",
           "seeds both": "starts at names and triples"}


def lists_answer(table: pd.DataFrame) -> str:
    """By how many points the graph list differs from the dense one, whether half 1 confirms it, where it does not help, and what gains more.

    A Markdown point a data set, where there are several. ``table``: graph_lists. Undecided: the interval holds 0. Numbers of hops with fewer than FEWEST
    questions are passed over.
    """
    rows = tables.six_digits(table[table["minus"] == V]).dropna(subset=["estimate", "ci_low", "ci_high"])
    main = "all" if (rows["half"] == "all").any() else rows["half"].min()
    here = rows[(rows["half"] == main) & rows["measure"].isin([*FIRST_FIVE, FIRST_PLACE])]
    told = [_told(d, part, rows[(rows["ranker"] == H) & (rows["dataset"] == d)]) for d, part in here.groupby("dataset")]
    told = [t for t in told if t]
    if not told:
        return "No question has gold passages in both the graph list and the dense list: what the walk finds cannot be scored."
    return told[0] if len(told) == 1 else "\n".join(f"- {t}" for t in told)


def _told(dataset: str, rows: pd.DataFrame, mine: pd.DataFrame) -> str:
    """One data set: both measures of the first five, then what shows no clear gain, then the lists that gain more; empty without a graph list."""
    whole = rows[rows["n_hops"] == ALL_HOPS]
    found = [_found(r, mine) for r in _sorted(whole[whole["ranker"] == H]).itertuples()]
    if not found:
        return ""
    said = [f"The graph list against the dense list on {named(dataset)}: {listed(found)}.",
            _sentence("No clear gain: ", _limits(rows[rows["ranker"] == H])), _sentence("Larger gains on average: ", _ahead(whole))]
    return " ".join(filter(None, said))


def _sorted(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of FIRST_FIVE, in its order."""
    kept = rows[rows["measure"].isin(list(FIRST_FIVE))]
    return kept.assign(_m=kept["measure"].map(list(FIRST_FIVE).index)).sort_values(["_m", "dataset"], kind="stable").drop(columns="_m")


def _sentence(head: str, parts: list[str]) -> str:
    return f"{head}{'; '.join(parts)}." if parts else ""


def _found(row, mine: pd.DataFrame) -> str:
    """One measure of one data set: points, interval, questions, and whether half 1 confirms."""
    said = verdict(row.ci_low, row.ci_high)
    notes = [f"n = {int(row.n):,}", *(["undecided"] if said == "undecided" else [] if row.p_holm < LEVEL else ["not after Holm"])]
    half = mine[(mine["dataset"] == row.dataset) & (mine["measure"] == row.measure) & (mine["n_hops"] == ALL_HOPS)].set_index("half")
    if {"0", "1"} <= set(half.index) and row.half == "all":
        notes += _borne(half, said)
    return f"{FIRST_FIVE[row.measure]} {points(row)} ({', '.join(notes)})"


def points(row) -> str:
    """A difference of shares in points with its interval.

    >>> from types import SimpleNamespace as Row
    >>> points(Row(estimate=0.081, ci_low=0.012, ci_high=0.15))
    '+8.1 points [+1.2, +15.0]'
    """
    return f"{signed(100 * row.estimate, 1)} points [{signed(100 * row.ci_low, 1)}, {signed(100 * row.ci_high, 1)}]"


def _borne(half: pd.DataFrame, said: str) -> list[str]:
    """Whether half 1 decides as half 0 did; nothing where neither half nor the whole decides."""
    chose, confirms = (verdict(half.loc[h, "ci_low"], half.loc[h, "ci_high"]) for h in "01")
    if chose == "undecided":
        return [f"half 0 undecided, half 1 {points(half.loc['1'])}"] if (said, confirms) != ("undecided", "undecided") else []
    return ["half 1 confirms half 0"] if confirms == chose else [f"half 1 does not confirm half 0: {points(half.loc['1'])}"]


def _limits(rows: pd.DataFrame) -> list[str]:
    """The last hop in first place, and the numbers of hops, without a clear gain."""
    place = rows[(rows["measure"] == FIRST_PLACE) & (rows["n_hops"] == ALL_HOPS)]
    hops = _sorted(rows[(rows["n_hops"] != ALL_HOPS) & (rows["n"] >= FEWEST)])
    parts = [("last hop in first place", place), *((f"{h} {'hop' if h == 1 else 'hops'}", part) for h, part in hops.groupby("n_hops"))]
    return _each([(head, part[part["ci_low"] <= 0]) for head, part in parts])


def _ahead(whole: pd.DataFrame) -> list[str]:
    """Other lists whose mean gain over the dense list is larger than the graph list's; no test of the two."""
    whole = _sorted(whole)
    mine = whole[whole["ranker"] == H].set_index("measure")["estimate"].rename("mine")
    return _each(list(whole.join(mine, on="measure").query("estimate > mine").groupby("ranker")))


def _each(parts: list[tuple[str, pd.DataFrame]]) -> list[str]:
    """Each part's head with its rows, measure by measure, in brackets."""
    return [f"{head} ({', '.join(f'{SHORT.get(r.measure, str())} {_loss(r)}'.strip() for r in rows.itertuples())})" for head, rows in parts if len(rows)]


def _loss(row) -> str:
    """The points; with the interval where the whole of it is below 0."""
    return f"{points(row)}, a loss{'' if row.p_holm < LEVEL else ' before Holm'}" if row.ci_high < 0 else signed(100 * row.estimate, 1)


def ablation_words(ablations: pd.DataFrame) -> str:
    """Which single change helps or harms the graph list most on half 0, by ``chosen_by``, and whether half 1 agrees, a sentence a data set.

    ``ablations``: graph_ablations. They are means without intervals, and the best of many tries flatters itself; both are said.
    """
    said = [_changed(named(d), part) for d, part in ablations.groupby("dataset")]
    said = [s for s in said if s]
    if not said:
        return "No choice of the graph list was changed on questions with gold passages: what its choices do stays open."
    return f"{' '.join(said)} Measured by the mean of recall@5 and last hop in the first 5; no intervals, so look for halves that agree."


def _changed(dataset: str, rows: pd.DataFrame) -> str:
    moved, n = _moved(rows, "0"), int(rows.loc[rows["half"] == "0", "n"].max()) if (rows["half"] == "0").any() else 0
    if moved.empty:
        return ""
    best, worst, other = moved.index[0], moved.index[-1], _moved(rows, "1")
    said = [f"{change(best)} helps most ({_agrees(best, moved, other)})" if moved[best] > 0 else "no change helps",
            f"{change(worst)} harms most ({_agrees(worst, moved, other)})" if moved[worst] < 0 else "no change harms"]
    if "relation 0.0" in moved.index and "relation 0.0" not in (best if moved[best] > 0 else "", worst if moved[worst] < 0 else ""):
        said.append(f"{change('relation 0.0')}: {_agrees('relation 0.0', moved, other)}")
    same = sum(moved[c] * other[c] > 0 for c in moved.index.intersection(other.index))
    tried = (f" The best and the worst of {len(moved)} tries on the same {n:,} questions look larger than they are; "
             f"{same} of {len(moved)} point the same way on half 1." if len(moved) > 1 else "")
    return f"On {dataset}, of {len(moved)} single {'changes' if len(moved) > 1 else 'change'}, {'; '.join(said)}.{tried}"


def _moved(rows: pd.DataFrame, half: str) -> pd.Series:
    """``chosen_by`` of every change minus that of the list as chosen, highest first, ties by name; empty where that list or its value is not there."""
    value = rows[rows["half"] == half].dropna(subset=["chosen_by"]).set_index("choice")["chosen_by"]
    if AS_CHOSEN not in value.index:
        return value[:0]
    return (value.drop(AS_CHOSEN) - value[AS_CHOSEN]).round(12).sort_index().sort_values(ascending=False, kind="stable")


def _agrees(choice: str, moved: pd.Series, other: pd.Series) -> str:
    """The points on half 0 and on half 1, and whether they point the same way."""
    told = f"{signed(100 * moved[choice], 1)} points on half 0"
    if choice not in other.index:
        return f"{told}, half 1 is not there"
    agrees = "half 1 agrees" if moved[choice] * other[choice] > 0 else "neither half moves" if moved[choice] == other[choice] == 0 else "half 1 does not agree"
    return f"{told}, {signed(100 * other[choice], 1)} on half 1: {agrees}"


def change(choice: str) -> str:
    """A change in words, beside what was chosen.

    >>> change("relation 0.0"), change("damping 0.5")
    ('relation edges off', '*damping* 0.5 in place of 0.85')
    """
    if choice in CHANGES:
        return CHANGES[choice]
    name, _, value = choice.partition(" ")
    return f"*{name.replace('_', ' ')}* {value} in place of {CHOSEN._asdict()[name]}" if name in CHOSEN._fields and "," not in choice else choice
