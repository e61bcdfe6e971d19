"""What became of each gold passage: never retrieved, filtered, left low, demoted, shown, promoted; before and after a change (document 001)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from lib.bootstrap import RESAMPLES
from lib.rollout_replay import Replay
from lib.stats import mean_interval
from lib.viability_lists import KEY
from lib.viability_requirement import EVERY
from lib.viability_slices import widened

NEVER, FILTERED, LOW, DEMOTED, SHOWN, PROMOTED = "never retrieved", "filtered", "left low", "demoted", "shown", "promoted"
FATES = (NEVER, FILTERED, LOW, DEMOTED, SHOWN, PROMOTED)
VISIBLE, SEEN = "seen", (SHOWN, PROMOTED)  # whichever way it came to be shown
COLUMNS = [*KEY, "doc_id", "grade", "first_rank", "final_rank", "fate"]
MOVES = ["dataset", "slice", "before", "after", "passages", "questions", "of"]
SHARES = ["dataset", "slice", "when", "fate", "estimate", "ci_low", "ci_high", "passages", "n"]


def fates(records: Sequence[Replay], judgements: pd.DataFrame, least_grade: float = 1) -> pd.DataFrame:
    """``COLUMNS``: a row a relevant passage (grade of ``least_grade`` or more) of each recorded question.

    never retrieved: neither a candidate nor dropped; filtered: dropped before scoring; left low: a candidate that neither order shows; demoted: the first
    stage had it among the places shown, the final order has not; shown: both have it; promoted: shown, and only by the final order. A passage that the order
    has among the places and the score threshold hides counts as demoted or left low. Ranks are missing where there are none.
    """
    gold = judgements[judgements["grade"] >= least_grade].drop_duplicates([*KEY, "doc_id"])
    wanted = {key: list(zip(part["doc_id"], part["grade"].astype(float))) for key, part in gold.groupby(KEY)}
    rows = []
    for record in records:
        first = {r[0]: at for at, r in enumerate(record["candidates"], 1)}
        final = {doc: at for at, doc in enumerate(record["order"], 1)}
        for doc, grade in wanted.get((record["dataset"], record["qid"]), ()):
            said = fate(first.get(doc), doc in record["shown"], doc in record["filters"]["dropped"], record["places"])
            rows.append((record["dataset"], record["qid"], doc, grade, first.get(doc), final.get(doc), said))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"first_rank": "Int64", "final_rank": "Int64"})


def fate(first_rank: int | None, shown: bool, dropped: bool, places: int) -> str:
    """One passage's fate from its first-stage rank (None: no candidate), whether it is shown, whether a filter dropped it.

    >>> fate(9, True, False, 4), fate(2, False, False, 4), fate(None, False, True, 4), fate(9, False, False, 4)
    ('promoted', 'demoted', 'filtered', 'left low')
    """
    if first_rank is None:
        return FILTERED if dropped else NEVER
    if shown:
        return SHOWN if first_rank <= places else PROMOTED
    return DEMOTED if first_rank <= places else LOW


def transitions(before: pd.DataFrame, after: pd.DataFrame, membership: pd.DataFrame) -> pd.DataFrame:
    """``MOVES``: gold passages by fate before and fate after, a slice at a time and ``all``; zero cells are left out. ``of``: the slice's passages.

    Raises ValueError where the two tables are not of the same passages.
    """
    key = [*KEY, "doc_id"]
    both = before.merge(after, on=key, suffixes=("_before", "_after"))
    if len(both) != len(before) or len(both) != len(after):
        raise ValueError(f"fates before ({len(before)} passages) and after ({len(after)}) must be of the same questions and passages, {len(both)} are common")
    rows = sliced(both, membership)
    cells = rows.groupby(["dataset", "slice", "fate_before", "fate_after"]).agg(passages=("doc_id", "size"), questions=("qid", "nunique")).reset_index()
    cells["of"] = cells.groupby(["dataset", "slice"])["passages"].transform("sum")
    return cells.set_axis(MOVES, axis=1)


def shares(table: pd.DataFrame, membership: pd.DataFrame, when: str, resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """``SHARES``: share of a slice's gold passages with each fate, interval over questions; fates that none has stand with 0; seen: shown or promoted.
    ``when``: before, after."""
    out = []
    for (dataset, name), part in sliced(table, membership).groupby(["dataset", "slice"]):
        for said, fates_of in {**{f: (f,) for f in FATES}, VISIBLE: SEEN}.items():
            held = part["fate"].isin(fates_of).to_numpy(float)
            i = widened(mean_interval(held, part["qid"], resamples, seed))
            out.append((dataset, name, when, said, *i[:3], int(held.sum()), i.clusters))
    return pd.DataFrame(out, columns=SHARES)


def sliced(table: pd.DataFrame, membership: pd.DataFrame) -> pd.DataFrame:
    """The rows once per slice of their question, and once in slice ``all``."""
    here = membership[[*KEY, "slice"]].drop_duplicates()
    return pd.concat([table.merge(here, on=KEY), table.assign(slice=EVERY)], ignore_index=True)
