"""Words and places on figures: numbers, verdicts, titles, subtitles, and labels moved apart so that none overlap."""
from __future__ import annotations

import textwrap
from collections.abc import Sequence

import altair as alt
import pandas as pd

GAP = "\u00a0"  # a number and its unit stay on one line
TITLE_LETTERS, SUBTITLE_LETTERS = 72, 106  # what 760 px hold in the widest font a browser may put for sans-serif


def shown(measure: str) -> str:
    """A measure's column name as figures print it: the same string, but for the two scores that papers write in capitals."""
    return {"f1": "F1", "em": "EM"}.get(measure, measure)


def percent(share: float) -> str:
    """A share in [0, 1] as whole per cent.

    >>> percent(0.714).replace(GAP, " ")
    '71 %'
    """
    return f"{100 * share:.0f}{GAP}%"


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign; minus is a minus, not a hyphen; zero has no sign.

    >>> signed(0.022), signed(-0.0204)
    ('+0.022', '−0.020')
    """
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text[1:] if float(text[1:]) == 0 else text


def verdict(low: float, high: float, margin: float | None = None) -> str:
    """What an interval of treatment - control says: wins, loses, equivalent (within a stated margin) or undecided.

    >>> verdict(0.002, 0.041), verdict(-0.035, 0.015), verdict(-0.052, -0.006), verdict(-0.01, 0.01, margin=0.02)
    ('wins', 'undecided', 'loses', 'equivalent')
    """
    if low > 0:
        return "wins"
    if high < 0:
        return "loses"
    return "equivalent" if margin is not None and -margin <= low and high <= margin else "undecided"


def apart(a: pd.Series, b: pd.Series) -> str:
    """The verdict on ``a`` against ``b`` from two separate intervals (estimate, ci_low, ci_high): decided only where they do not touch.

    This is stricter than a paired interval; hand a contrast to the figure where there is one.
    """
    return verdict(a["ci_low"] - b["ci_high"], a["ci_high"] - b["ci_low"])


def listed(names: Sequence[str]) -> str:
    """Names as prose.

    >>> listed(["naive", "mmr", "focused"])
    'naive, mmr and focused'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def counted(n: pd.Series | Sequence[int], noun: str = "questions") -> str:
    """How many rows stand behind a figure, as a range where it differs from mark to mark.

    >>> counted([200, 200]), counted([180, 1200])
    ('n = 200 questions', 'n = 180 to 1,200 questions')
    """
    low, high = int(min(n)), int(max(n))
    return f"n = {low:,} {noun}" if low == high else f"n = {low:,} to {high:,} {noun}"


def counted_in(table: pd.DataFrame) -> str:
    """`counted` for a table: its data set where it is one, its rows and, where they differ, the questions they cluster in."""
    where = f"{table['dataset'].iloc[0]} · " if "dataset" in table and table["dataset"].nunique() == 1 else ""
    if "clusters" not in table or (table["clusters"] == table["n"]).all():
        return where + counted(table["n"])
    return f"{where}{counted(table['n'], 'rows')} of {counted(table['clusters']).removeprefix('n = ')}"


def tier_of(table: pd.DataFrame, tier: str | None) -> str:
    """The tier to print: the one given, or the one the table holds."""
    if tier is None and "tier" in table:
        tier = listed(sorted(set(table["tier"])))
    return f"{tier} tier" if tier else "tier not stated"


def headed(finding: str, *notes: str, width: int = 760) -> alt.TitleParams:
    """A title that is the finding, over notes on n, interval and tier; both wrapped to ``width`` pixels."""
    whole = [note.replace("n = ", f"n{GAP}={GAP}") for note in notes if note]  # a number stays with what it counts
    small = [line.replace(f"n{GAP}={GAP}", "n = ") for note in whole for line in textwrap.wrap(note, int(SUBTITLE_LETTERS * width / 760))]
    return alt.TitleParams(wrapped(finding, int(TITLE_LETTERS * width / 760)), subtitle=small)


def wrapped(text: str, letters: int) -> list[str]:
    """``text`` in as few lines of at most ``letters`` as hold it, of about equal length.

    >>> wrapped("one two three four", 14)
    ['one two', 'three four']
    """
    fewest = len(textwrap.wrap(text, letters, break_long_words=False))
    even = next(w for w in range(min(-(-len(text) // fewest), letters), letters + 1) if len(textwrap.wrap(text, w, break_long_words=False)) <= fewest)
    return textwrap.wrap(text, even, break_long_words=False)


def nudge(values: Sequence[float], gap: float, low: float = float("-inf"), high: float = float("inf")) -> list[float]:
    """Label places: as near to ``values`` as can be, ``gap`` apart or more, within [low, high] as far as they fit, in the same order.

    Neighbours that overlap are merged into a block that is centred on its members' mean; ties keep the order given.

    >>> nudge([1.0, 1.0, 5.0], gap=1)
    [0.5, 1.5, 5.0]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    blocks: list[tuple[list[int], float]] = []
    for i in order:
        members, centre = [i], _within(values[i], 0, low, high)
        while blocks and centre - gap * (len(members) - 1) / 2 < blocks[-1][1] + gap * (len(blocks[-1][0]) + 1) / 2 - 1e-12:
            members = blocks.pop()[0] + members
            centre = _within(sum(values[m] for m in members) / len(members), gap * (len(members) - 1) / 2, low, high)
        blocks.append((members, centre))
    places = [0.0] * len(values)
    for members, centre in blocks:
        for k, m in enumerate(members):
            places[m] = round(centre + gap * (k - (len(members) - 1) / 2), 9)
    return places


def _within(centre: float, half: float, low: float, high: float) -> float:
    return max(low + half, min(high - half, centre))
