"""The tables that hold document 002's printed figures beside a run's; form: see ``lib.declarations``. Deltas, bounds and harms in pp, rates as shares."""
from lib.declarations_results import TIER

CELL = {"dataset": ("str", "the published data set"), "k": ("int", "places of the list that the reader gets"), "rule": ("str", "coverage; budget 1"),
        "compared_with": ("str", "the data set of this run; none: see why")}


def _figures(start: str, of: str, kind: str) -> dict:
    """The figures of one side: its columns begin with ``start``; ``kind``: ``?`` where one may be missing."""
    said = {"always": ("float", "always reranking - H, pp"), "skip": ("float", "share of questions skipped"), "delta": ("float", "gated - always reranked, pp"),
            "harmful": ("int", "harmful skips"), "beneficial": ("int", "beneficial skips"),
            "bound": ("float", "one-sided 95 % lower bound on delta, from the counts, pp"),
            "within": ("bool", "delta of -1 pp or more, from the counts"), "surely": ("bool", "bound of -1 pp or more"),
            "expected": ("float", "harm promised, pp"), "realised": ("float", "harmful skips / questions, pp")}
    return {f"{start}{name}": (f"{type_}{kind}", f"{meaning}; {of}") for name, (type_, meaning) in said.items()}


GATING_PUBLISHED: dict[str, dict] = {
    "gating_published": dict(format="csv", key=["tier", *CELL],
                             meaning="document 002's gate, cell by cell, beside this run's (data/published/gating_*.csv)", columns={
        **TIER, **CELL, "published_n": ("int", "questions of the published set"), **_figures("published_", "published", "?"),
        "n": ("int?", "questions here"), **_figures("", "here", "?"),
        "ci_low": ("float?", "95 % interval of our delta, lower end"), "ci_high": ("float?", "upper end"),
        "why": ("str?", "what is missing on either side, and why")}),
    "gating_counterparts": dict(format="csv", key=["tier", "source"],
                                meaning="the counterpart of every table and figure of document 002, and what could not be run", columns={
        **TIER, "source": ("str", "table or figure of document 002"), "shows": ("str", "what it shows"), "ours": ("str", "table or module of this compendium"),
        "rows": ("int", "rows that this run has"), "datasets": ("str?", "data sets in them"), "questions": ("int?", "of the largest data set"),
        "not_run": ("str?", "what could not be run, and why; missing: nothing")}),
}
