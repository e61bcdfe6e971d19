"""What every question says to the gates, per slice: is its evidence in the pool, is it shown before and after, and what does the new order gain?"""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from lib import viability
from lib.rollout_parameters import Parameters
from lib.viability_lists import KEY, pools_of, reranked_within
from lib.viability_requirement import EVERY, REST, Requirement, evidence

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
    round. ``depth`` cuts the pool, and the reranked list to what is left of it. No row without a judgement; where a slice requires roles or a bundle and no
    judgement tells any, the three are missing there. Raises ValueError as `viability.audit` does (a reranked passage that was no candidate).
    """
    if judgements.empty or first.empty:
        return no_rows()
    member = membership[[*KEY, "slice"]].drop_duplicates()
    asked = {name: s.requirement for name, s in parameters.slices.items() if name == REST or name in set(member["slice"])}
    untold = {name for name, r in asked.items() if not _told(r, judgements)}
    asked |= dict.fromkeys(untold, Requirement())
    audited = viability.audit(first, judgements, reranked, parameters.places, depth, gains=("exponential",), bounds=False)
    pools = pools_of(first, depth)
    again = reranked_within(reranked, pools, first)  # what a smaller pool lacks is shown by no order of it
    head = {"in_pool": pools, "shown_before": pools[pools["rank"] <= parameters.places], "shown_after": again[again["rank"] <= parameters.places]}
    met = [
        _known(evidence(rows, judgements, member, asked, parameters.places), member, asked, untold).set_index([*KEY, "slice"])["met"].rename(name)
        for name, rows in head.items()
    ]
    wide = pd.concat([m[~m.index.duplicated()] for m in met], axis=1).reset_index()
    rows = wide.merge(audited[[*KEY, *[c for c in ROWS[3:] if c in audited]]], on=KEY)
    known = rows["shown_before"].notna() & rows["shown_after"].notna()
    broken, repaired = (rows["shown_before"] > rows["shown_after"]), (rows["shown_before"] < rows["shown_after"])
    rows = rows.assign(broken=broken.astype(float).where(known), repaired=repaired.astype(float).where(known))
    return rows[ROWS].sort_values([*KEY, "slice"], ignore_index=True)


def no_rows() -> pd.DataFrame:
    """``ROWS`` without a row.

    >>> len(no_rows()), list(no_rows().columns) == ROWS
    (0, True)
    """
    return pd.DataFrame({c: pd.Series(dtype="str" if c in (*KEY, "slice") else float) for c in ROWS})


def _told(asked: Requirement, judgements: pd.DataFrame) -> bool:
    """Whether the judgements have what a requirement speaks of: every role, or any bundle."""
    bundles = "bundle" in judgements and judgements["bundle"].notna().any()
    return (bundles or not asked.bundle) and {role for role, _ in asked.roles} <= set(judgements.get("role", ()))


def _known(met: pd.DataFrame, member: pd.DataFrame, asked: Collection[str], untold: Collection[str]) -> pd.DataFrame:
    """What is met, missing for the slices whose requirement no judgement can tell, and for their questions in all."""
    if not untold:
        return met
    lost = {name for name in member["slice"] if (name if name in asked else REST) in untold}
    keys, every = pd.MultiIndex.from_frame(met[KEY]), met["slice"] == EVERY
    hit = met["slice"].isin(lost) | every & keys.isin(pd.MultiIndex.from_frame(member.loc[member["slice"].isin(lost), KEY]))
    if REST in untold:  # which holds for questions of no slice, too
        hit |= every & ~keys.isin(pd.MultiIndex.from_frame(member[KEY]))
    return met.assign(met=met["met"].mask(hit))


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
