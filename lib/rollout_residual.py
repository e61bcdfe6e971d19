"""The residual omission, in the units of the decision's risk: in how many questions the evidence is still absent, and how many a year that makes."""

from __future__ import annotations

import math

import pandas as pd

from lib.rollout_bounds import rate_bounds
from lib.rollout_parameters import Parameters
from lib.rollout_rows import of_slice

COLUMNS = ["dataset", "slice", "consequence", "evidence", "where", "absent", "n", "undefined", "rate", "ci_low", "ci_high", "volume",
           "a_year", "year_low", "year_high"]
VERBS = {"pool": "was absent from the pool", "shown before": "was absent from what was shown", "shown after": "remained absent from what is shown"}
WHERE = {"pool": "in_pool", "shown before": "shown_before", "shown after": "shown_after"}


def residual(rows: pd.DataFrame, parameters: Parameters, level: float = 0.95) -> pd.DataFrame:
    """``COLUMNS``: a row a slice and place (``WHERE``): questions whose required evidence is absent there, with the exact binomial interval.

    ``rows`` from `rollout_rows.question_rows`. pool: no order can show it; shown before, shown after: the old order does not, the new one does not.
    a_year: the rate times the slice's yearly ``volume`` (missing where that is 0, unknown), were the year's questions like these.
    """
    out = []
    for (dataset, name), part in of_slice(rows):
        asked = parameters.of(name)
        for where, column in WHERE.items():
            known = part[column].dropna()
            absent = int((known == 0).sum())
            found = rate_bounds(absent, len(known), (1 - level) / 2)
            year = [x * asked.volume if asked.volume else math.nan for x in found]
            out.append((dataset, name, asked.consequence, asked.evidence, where, absent, len(known), len(part) - len(known), *found,
                        asked.volume, *year))
    return pd.DataFrame(out, columns=COLUMNS)


def told(row: pd.Series | dict) -> str:
    """One row of `residual` as a sentence; a yearly number only where the gate file gives a volume.

    >>> told({"evidence": "the operative exception", "where": "shown after", "consequence": "binding", "absent": 6, "n": 200, "rate": 0.03,
    ...       "ci_low": 0.0111, "ci_high": 0.0642, "volume": 1500, "a_year": 45.0, "year_low": 16.6, "year_high": 96.3}).split("; ")[1]
    'if 1,500 such questions come a year (a number of the gate file), 45 [17, 96] of them'
    """
    if not row["n"]:
        return f"{row['evidence']}: no question could tell"
    share = f"{100 * row['rate']:.1f} % [{100 * row['ci_low']:.1f}, {100 * row['ci_high']:.1f}]"
    year = (f"; if {row['volume']:,.0f} such questions come a year (a number of the gate file), "
            f"{row['a_year']:,.0f} [{row['year_low']:,.0f}, {row['year_high']:,.0f}] of them") if row["volume"] > 0 else ""
    return f"{row['evidence']} {VERBS[row['where']]} in {row['absent']} of {row['n']} questions of {row['consequence']} consequence ({share}){year}"
