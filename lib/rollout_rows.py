"""What every question says to the gates, per slice: is its evidence in the pool, is it shown before and after, and what does the new order gain?"""

from __future__ import annotations

import pandas as pd

from lib import viability
from lib.rollout_parameters import Parameters
from lib.viability_lists import KEY, pools_of
from lib.viability_requirement import EVERY, REST, evidence

ROWS = [*KEY, "slice", "in_pool", "shown_before", "shown_after", "broken", "repaired", "base", "reranked", "ceiling", "ordering_headroom", "realised_gain"]


def question_rows(
    first: pd.DataFrame,
    reranked: pd.DataFrame,
    judgements: pd.DataFrame,
    membership: pd.DataFrame,
    parameters: Parameters,
    depth: int | None = None,
) -> pd.DataFrame:
    """``ROWS``: a row a (dataset, qid, slice) and one in slice ``all``; shares in [0, 1], scores nDCG@places, exponential gain.

    ``first`` and ``reranked``: one ranker each, dataset, qid, rank, doc_id, score; ``judgements``: dataset, qid, doc_id, grade, and role and bundle where a
    requirement asks for them; ``membership``: dataset, qid, slice. in_pool, shown_before, shown_after: the requirement of that slice is met by the pool, by
    the first ``places`` of either list; missing where the judgements themselves cannot meet it. broken: shown before and not after; repaired: the other way
    round. Raises ValueError as `viability.audit` does (a reranked passage that was no candidate).
    """
    member = membership[[*KEY, "slice"]].drop_duplicates()
    asked = {name: s.requirement for name, s in parameters.slices.items() if name == REST or name in set(member["slice"])}
    audited = viability.audit(first, judgements, reranked, parameters.places, depth, gains=("exponential",), bounds=False)
    pools = pools_of(first, depth)
    head = {"in_pool": pools, "shown_before": pools[pools["rank"] <= parameters.places], "shown_after": reranked[reranked["rank"] <= parameters.places]}
    met = [
        evidence(rows, judgements, member, asked, parameters.places).set_index([*KEY, "slice"])["met"].rename(name)
        for name, rows in head.items()
    ]
    wide = pd.concat([m[~m.index.duplicated()] for m in met], axis=1).reset_index()
    rows = wide.merge(audited[[*KEY, *[c for c in ROWS[3:] if c in audited]]], on=KEY)
    known = rows["shown_before"].notna() & rows["shown_after"].notna()
    broken, repaired = (rows["shown_before"] > rows["shown_after"]), (rows["shown_before"] < rows["shown_after"])
    rows = rows.assign(broken=broken.astype(float).where(known), repaired=repaired.astype(float).where(known))
    return rows[ROWS].sort_values([*KEY, "slice"], ignore_index=True)


def of_slice(rows: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    """((dataset, slice), rows) with ``all`` last in each data set."""
    parts = [(key, part) for key, part in rows.groupby(["dataset", "slice"])]
    return sorted(parts, key=lambda p: (p[0][0], p[0][1] == EVERY, p[0][1]))


def paired_outcomes(outcomes: pd.DataFrame, first: str, again: str, metric: str, **where: object) -> pd.DataFrame:
    """dataset, qid, metric, baseline, reranked: what the downstream gate reads, from outcomes of both lists (dataset, qid, ranker, and a column ``metric``).

    ``where``: further columns and their value, such as packer="submod", so that each list has one row a question. Raises ValueError where it has more.

    >>> seen = pd.DataFrame({"dataset": "d", "qid": "q", "ranker": ["a", "b"], "f1": [0.5, 1.0]})
    >>> paired_outcomes(seen, "a", "b", "f1")[["baseline", "reranked"]].values.tolist()
    [[0.5, 1.0]]
    """
    lost = [c for c in [*KEY, "ranker", metric, *where] if c not in outcomes]
    if lost:
        raise ValueError(f"the outcomes have no column {lost[0]!r}; they have {', '.join(outcomes)}")
    rows = outcomes
    for column, value in where.items():
        rows = rows[rows[column] == value]
    sides = [rows.loc[rows["ranker"] == name, [*KEY, metric]].rename(columns={metric: said}) for name, said in ((first, "baseline"), (again, "reranked"))]
    for side, name in zip(sides, (first, again)):
        if side.duplicated(KEY).any():
            raise ValueError(f"{name!r} has several outcomes for question {side.loc[side.duplicated(KEY), 'qid'].iloc[0]!r}; say which by a further column "
                             f"(given: {', '.join(where) or 'none'})")
    return sides[0].merge(sides[1], on=KEY).assign(metric=metric)
