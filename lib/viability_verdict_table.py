"""Both verdicts on every slice as a table, with what ours rests on and the counts in words (document 001, release gates)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from lib.viability_requirement import REST, Requirement
from lib.viability_slices import CAPTURE, GROUP
from lib.viability_verdict import FEWEST, PUBLISHED, Findings, Seen, Thresholds, document_verdict, findings

VERDICT = [
    "requirement",
    "document_verdict",
    "verdict",
    "leaning",
    "retrieval",
    "ordering",
    "reranking",
    "requirement_met",
    "met_low",
    "met_high",
    "ordering_headroom",
    "headroom_low",
    "headroom_high",
    "realised_gain",
    "gain_low",
    "gain_high",
    "p_holm",
    "headroom_capture",
    "absent",
    "regressed",
    "regression",
    "n",
    "undefined",
    "why",
]


def verdict_table(slices: pd.DataFrame, requirements: Mapping[str, Requirement], thresholds: Thresholds = PUBLISHED) -> pd.DataFrame:
    """One row a slice and set-up: both verdicts, what ours rests on, and why in words; ``slices`` from `viability_slices.slice_table`.

    ``leaning`` is our verdict on the estimates alone, for where intervals, or fewer than `FEWEST` queries, leave it undecided.
    In ``all``, the share asked is the highest of any slice's.
    """
    rows = [_row(name, part.set_index("measure"), requirements, thresholds) for name, part in slices.groupby(["tier", *GROUP], dropna=False)]
    return pd.DataFrame(rows, columns=["tier", *GROUP, *VERDICT])


def _row(name: tuple, part: pd.DataFrame, requirements: Mapping[str, Requirement], thresholds: Thresholds) -> tuple:
    asked = _asked(name[2], requirements)
    n, undefined = int(part.at["base", "n"]), int(part.at["base", "undefined"])
    met, headroom, gain = (Seen(*part.loc[m, ["estimate", "ci_low", "ci_high", "n"]]) for m in ("requirement_met", "ordering_headroom", "realised_gain"))
    p = part.at["realised_gain", "p_holm"]
    p = part.at["realised_gain", "p_value"] if math.isnan(p) else p
    made = findings(met, headroom, gain, asked.share, thresholds, p)
    leaning = findings(met.point(), headroom.point(), gain.point(), asked.share, thresholds)
    published = document_verdict(*(part.at[m, "estimate"] for m in ("candidate_recall", "omission_gap", "ordering_headroom", "realised_gain")), thresholds)
    lost, of_met = part.at["regressed", "estimate"], int(part.at["requirement_met", "n"])
    absent = round((1 - met.estimate) * of_met) if of_met else 0
    regressed = round(lost * int(part.at["regressed", "n"])) if not math.isnan(lost) else 0
    regression = part.at["regression", "estimate"]
    said = asked.said() if name[2] != "all" or len(requirements) == 1 else "what its slice requires, for each query"
    return (
        *name,
        said,
        published,
        made.verdict(),
        leaning.verdict(),
        *made,
        *met[:3],
        *headroom[:3],
        *gain[:3],
        p,
        part.at[CAPTURE, "estimate"],
        absent,
        regressed,
        regression,
        n,
        undefined,
        why(absent, of_met, regressed, regression, n, undefined, made),
    )


def _asked(name: str, requirements: Mapping[str, Requirement]) -> Requirement:
    rest = requirements.get(REST, Requirement())
    return max(requirements.values(), key=lambda r: r.share, default=rest) if name == "all" else requirements.get(name, rest)


def why(absent: int, of_met: int, regressed: int, regression: float, n: int, undefined: int, made: Findings) -> str:
    """The counts behind a verdict, in the units of the decision (document 001, release gates).

    >>> why(6, 200, 12, 0.031, 200, 3, Findings("sufficient", "headroom", "gains"))
    'the required evidence is absent for 6 of 200 queries; the reranker lowers 12 of 200, a mean loss of 0.031 over all; 3 left out as undefined'
    """
    queries = "query" if of_met == 1 else "queries"
    said = [f"the required evidence is absent for {absent} of {of_met} {queries}" if of_met else "no query could meet the requirement on these judgements"]
    if made.reranking != "none":
        said.append(f"the reranker lowers {regressed} of {n}" + (f", a mean loss of {regression:.3f} over all" if regressed else ""))
    if 0 < n < FEWEST:
        said.append(f"fewer than {FEWEST} queries, too few to judge an order or a reranker")
    return "; ".join(said + ([f"{undefined} left out as undefined"] if undefined else []))
