"""Both verdicts on a slice: document 001's own rule, and ours, which asks for the stated evidence and may say two things or "undecided".

Document 001 looks at mean candidate recall and omission first, so it orders a repair where 9 of 10 relevant passages are in the pool and 3 are
needed, and it stays silent about a reranker that spoils a correct order. Ours names three findings, each from an interval, and joins them:
*retrieval* (is the required evidence in the pool?), *ordering* (is there headroom?), *reranking* (does this reranker gain or lose?).

Fewer than ``FEWEST`` queries decide nothing about an order or a reranker, whatever their interval: even if all of five queries change the same way,
a two-sided sign test gives 2 * 0.5 ** 5 = 0.0625, above 0.05; six give 0.031. Whether the evidence is in the pool is another question, a share against
a bound near 1, with an interval that is exact where all queries agree: two pools that both lack it can order a repair, one pool cannot.
"""

from __future__ import annotations

import math
from typing import NamedTuple

FIX, SKIP, REJECT, VIABLE, UNDEFINED = "fix retrieval", "skip or reduce", "reject", "viable", "undefined"
REPAIR, KEEP, REFUSE, RERANK, TRY = "repair retrieval", "keep the first stage", "reject this reranker", "rerank", "try a reranker"
LEVEL = 0.05  # of the Holm-adjusted test that a gain or loss must pass
FEWEST = 6  # queries: with fewer, no two-sided sign test passes LEVEL


class Thresholds(NamedTuple):
    """Document 001's numbers: least candidate recall, most omission, least headroom; all mean nDCG or shares in [0, 1]."""

    recall: float = 0.95
    omission: float = 0.05
    headroom: float = 0.02


PUBLISHED = Thresholds()


class Seen(NamedTuple):
    """One quantity of a slice: estimate, 95 % interval (NaN ends where fewer than two queries leave none), and the queries behind it."""

    estimate: float
    low: float
    high: float
    n: float

    def point(self) -> Seen:
        """The estimate as if it were certain: what a verdict leans on."""
        return Seen(self.estimate, self.estimate, self.estimate, math.inf)

    def decides(self, fewest: int = FEWEST) -> bool:
        """Whether there is an interval to judge by: one of no width needs ``FEWEST`` queries, every other ``fewest``.

        >>> Seen(0, 0, 0, 5).decides(2), Seen(0, 0, 0.8, 2).decides(2), Seen(0, 0, 0.8, 2).decides()
        (False, True, False)
        """
        return not math.isnan(self.low) and self.n >= (FEWEST if self.low == self.high else fewest)


def document_verdict(candidate_recall: float, omission_gap: float, ordering_headroom: float, realised_gain: float, thresholds: Thresholds = PUBLISHED) -> str:
    """Document 001's decision rule on four numbers; "undefined" where it needs one that is missing (NaN).

    >>> document_verdict(1, 0, 0.83, 0.83), document_verdict(0, 1, 0, 0), document_verdict(1, 0, 0, -0.27)
    ('viable', 'fix retrieval', 'skip or reduce')
    """
    if math.isnan(candidate_recall) or math.isnan(omission_gap):
        return UNDEFINED
    if candidate_recall < thresholds.recall or omission_gap > thresholds.omission:
        return FIX
    if ordering_headroom < thresholds.headroom:
        return SKIP
    return UNDEFINED if math.isnan(realised_gain) else REJECT if realised_gain <= 0 else VIABLE


def side(seen: Seen, threshold: float, fewest: int = FEWEST) -> str:
    """Which side of a threshold an interval lies on: "above" (at it, too), "below", "undecided" (also without an interval that decides), "undefined".

    >>> side(Seen(0.9, 0.8, 0.94, 40), 0.95), side(Seen(0.9, 0.8, 0.94, 5), 0.95), side(Seen(0.9, float("nan"), float("nan"), 1), 0.95)
    ('below', 'undecided', 'undecided')
    """
    if math.isnan(seen.estimate):
        return UNDEFINED
    if not seen.decides(fewest):
        return "undecided"
    return "above" if seen.low >= threshold else "below" if seen.high < threshold else "undecided"


class Findings(NamedTuple):
    """retrieval: sufficient, repair; ordering: headroom, little; reranking: gains, loses, no gain, none; each also undecided or undefined."""

    retrieval: str
    ordering: str
    reranking: str

    def verdict(self) -> str:
        """The findings as one verdict, possibly compound.

        >>> Findings("repair", "headroom", "loses").verdict(), Findings("undecided", "headroom", "gains").verdict()
        ('repair retrieval and reject this reranker', 'rerank; undecided: retrieval')
        """
        if self.retrieval == UNDEFINED:
            return UNDEFINED
        said = [REPAIR] if self.retrieval == "repair" else []
        if self.ordering == "little" and self.retrieval != "repair":
            said.append(KEEP)
        if self.reranking == "loses" or (self.reranking == "no gain" and self.ordering == "headroom"):
            said.append(REFUSE)
        elif self.ordering == "headroom" and self.reranking in ("gains", "none"):
            said.append(RERANK if self.reranking == "gains" else TRY)
        open_ = [name for name, value in self._asdict().items() if value == "undecided"]
        if self.ordering == "little" or self.reranking == "loses":
            open_ = [name for name in open_ if name == "retrieval"]  # with little to gain, or a loss, the rest changes nothing
        return "; ".join(filter(None, [" and ".join(said), f"undecided: {', '.join(open_)}" if open_ else ""])) or "nothing to do"


def findings(met: Seen, headroom: Seen, gain: Seen, share: float, thresholds: Thresholds = PUBLISHED, p_holm: float = math.nan) -> Findings:
    """Judge three quantities of a slice against ``share``, the headroom threshold and 0; a gain or loss must also pass Holm where p_holm is given.

    >>> findings(Seen(1, 1, 1, 80), Seen(0.3, 0.2, 0.4, 80), Seen(0.1, 0.05, 0.2, 80), 0.95)
    Findings(retrieval='sufficient', ordering='headroom', reranking='gains')
    >>> findings(Seen(0, 0, 0.6, 4), Seen(0.3, 0.2, 0.4, 4), Seen(0.1, 0.05, 0.2, 4), 0.95)
    Findings(retrieval='repair', ordering='undecided', reranking='undecided')
    """
    retrieval = {"above": "sufficient", "below": "repair"}
    ordering = {"above": "headroom", "below": "little"}
    return Findings(
        *(names.get(found, found) for names, found in ((retrieval, side(met, share, 2)), (ordering, side(headroom, thresholds.headroom)))),
        _reranking(gain, p_holm),
    )


def _reranking(gain: Seen, p_holm: float) -> str:
    if math.isnan(gain.estimate):
        return "none"
    if not gain.decides():
        return "undecided"
    if gain.low == gain.high == 0:
        return "no gain"
    return "undecided" if p_holm >= LEVEL or gain.low <= 0 <= gain.high else "gains" if gain.low > 0 else "loses"
