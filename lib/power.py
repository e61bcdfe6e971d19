"""How many questions a contrast needs: to decide a difference, or to conclude that there is none worth naming (SPEC 8)."""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats as distributions

from lib.stats import minimum_detectable_effect

KEY = ["dataset", "pack_id", "budget", "reader", "precision", "half", "treatment", "control", "metric"]
ON_ANSWERS = ("f1", "em", "f1_raw")  # metrics that a reader's claim is about; the others hold before any reader
COLUMNS = ["tier", *KEY, "delta", "mde", "n", "sd", "decided", "needed_seen", "published", "needed_published", "needed_equivalence"]


def questions_needed(sd: float, effect: float, power: float = 0.8, alpha: float = 0.05) -> float:
    """Questions with which a mean paired difference of ``effect`` is decided with this power, two-sided, normal approximation.

    `lib.stats.minimum_detectable_effect` the other way round; ``sd`` is of the paired differences, in the units of ``effect``. NaN for an
    effect of 0, which no number of questions decides. Raises ValueError for a negative or missing sd.

    >>> questions_needed(0.30, 0.022), questions_needed(0.36, 0.022)
    (1460.0, 2102.0)
    """
    _check_sd(sd)
    if not effect or np.isnan(effect):
        return float("nan")
    return float(np.ceil(round(max(1.0, (minimum_detectable_effect(sd, 1, power, alpha) / abs(effect)) ** 2), 6)))


def questions_for_equivalence(sd: float, margin: float = 0.02, power: float = 0.8, alpha: float = 0.05) -> float:
    """Questions with which two one-sided tests conclude "within +- margin" with this power, where the true difference is 0.

    Never fewer than `lib.stats.equivalence` asks for (149 at 2 points). Raises ValueError for a margin that is not positive.

    >>> questions_for_equivalence(0.36)
    2775.0
    """
    _check_sd(sd)
    if not margin > 0:
        raise ValueError(f"margin must be positive, got {margin}")
    z = distributions.norm.ppf(1 - alpha) + distributions.norm.ppf(1 - (1 - power) / 2)  # a miss on either side is a miss
    fewest = np.log(alpha) / np.log(1 - margin) if margin < 1 else 2
    return float(np.ceil(round(max(fewest, (z * sd / margin) ** 2), 6)))


def _check_sd(sd: float) -> None:
    if not sd >= 0:
        raise ValueError(f"sd must be 0 or more, got {sd}")


def spread(mde, n):
    """The sd of the paired differences behind a row of the table ``contrasts``, from its mde and its number of questions."""
    return mde * np.sqrt(n) / minimum_detectable_effect(1.0, 1)


def needed(contrasts: pd.DataFrame, claims: pd.DataFrame | None = None, stand_in: Mapping[str, list[str]] | None = None,
           margin: float = 0.02) -> pd.DataFrame:
    """For each row of the table ``contrasts`` the questions it needs, at the spread seen, with 80 % power.

    ``needed_seen``: to decide a difference as large as the one seen (itself uncertain: near 0 it asks for far too many). ``needed_published``:
    one as large as published, from ``claims`` (`lib.claims.published`), of this data set or of the first that ``stand_in`` lets it stand for,
    which is the fairer aim. ``needed_equivalence``: to conclude "within the margin" if there is none. Missing where nothing varied.
    ``margin`` is in the metric's units; of tokens it means nothing and is missing.
    """
    rows = contrasts.assign(sd=spread(contrasts["mde"].astype(float), contrasts["n"].astype(float)))
    rows["decided"] = (rows["ci_low"] > 0) | (rows["ci_high"] < 0)
    known = _published(claims) if claims is not None else {}
    rows["published"] = [_effect(known, row, stand_in or {}) for row in rows[KEY].itertuples(index=False)]
    varied = rows["sd"] > 0
    for column, effect in (("needed_seen", "delta"), ("needed_published", "published")):
        rows[column] = [questions_needed(s, e) if v and not np.isnan(e) else np.nan for s, e, v in zip(rows["sd"], rows[effect], varied)]
    shares = varied & (rows["metric"] != "n_tokens")
    rows["needed_equivalence"] = [questions_for_equivalence(s, margin) if v else np.nan for s, v in zip(rows["sd"], shares)]
    return rows[COLUMNS].reset_index(drop=True)


def _published(claims: pd.DataFrame) -> dict[tuple, float]:
    """(data set, budget, treatment, control, metric) -> published difference, main reader's; the first row of a contrast counts."""
    found: dict[tuple, float] = {}
    for claim in claims[claims["table"] == "contrasts"].itertuples():
        w = claim.where
        if w.get("half", "all") == "all" and w.get("reader", "main") == "main" and not np.isnan(claim.published):
            found.setdefault((claim.dataset, w["budget"], w["treatment"], w["control"], w["metric"]), float(claim.published))
    return found


def _effect(known: Mapping[tuple, float], row, stand_in: Mapping[str, list[str]]) -> float:
    if row.metric in ON_ANSWERS and row.reader == "none":
        return float("nan")
    for dataset in (row.dataset, *stand_in.get(row.dataset, ())):
        at = (dataset, row.budget, row.treatment, row.control, row.metric)
        if at in known:
            return known[at]
    return float("nan")


def power_answer(table: pd.DataFrame) -> str:
    """What n can show, a sentence a row of ``needed`` with a published effect: whether the questions here could have decided it."""
    out = []
    for row in table.dropna(subset=["needed_published"]).itertuples():
        want, have = int(row.needed_published), int(row.n)
        enough = f"and there are {have:,}" if have >= want else f"{want / have:.1f} times the {have:,} of this run"
        out.append(f"To decide {row.treatment} - {row.control} on {row.metric} ({row.dataset}), published as {100 * row.published:+.1f} points, "
                   f"takes {want:,} questions, {enough}; these show differences of {100 * row.mde:.1f} points or more.")
    return " ".join(out) or "No contrast of this run has both a published effect and a spread, so there is no effect to aim at."
