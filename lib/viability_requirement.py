"""The evidence a decision needs, stated per slice before anything is measured, and whether each pool holds it (document 001, viability test 1).

A requirement is written ``all`` (every relevant passage, at most the cutoff's number), ``3`` (that many relevant passages), ``policy:1,exception:1``
(that many of each role), or ``bundle`` (at least one admissible bundle as a whole). ``@0.9`` behind it: the share of queries that must have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from lib.grades import bundle_coverage
from lib.viability_ids import plain

KEY = ["dataset", "qid"]
SHARE = 0.95  # document 001's bound on candidate recall, here on the share of queries whose pool suffices
EVERY, REST = "all", "*"
NOTHING = (float("nan"),) * 3


class Requirement(NamedTuple):
    """``passages`` relevant passages (None: all), or ``roles`` with a count each, or a whole bundle; for a ``share`` of queries."""

    passages: int | None = None
    roles: tuple[tuple[str, int], ...] = ()
    bundle: bool = False
    share: float = SHARE

    def said(self) -> str:
        """The requirement in words.

        >>> parse("policy:1,exception:1").said(), parse("3@0.9").said()
        ('1 policy and 1 exception, for 95 % of queries', '3 relevant passages, for 90 % of queries')
        """
        if self.roles:
            what = " and ".join(f"{n} {role}" for role, n in self.roles)
        elif self.bundle:
            what = "one whole bundle"
        else:
            what = "every relevant passage" if self.passages is None else f"{self.passages} relevant passage{'s' * (self.passages > 1)}"
        return f"{what}, for {100 * self.share:g} % of queries"


def parse(text: str) -> Requirement:
    """Read one requirement; ValueError says what may be written.

    >>> parse("3")
    Requirement(passages=3, roles=(), bundle=False, share=0.95)
    """
    what, _, share = text.strip().partition("@")
    try:
        asked = float(share) if share else SHARE
        if not 0 < asked <= 1:
            raise ValueError
        if what in (EVERY, "bundle"):
            return Requirement(bundle=what == "bundle", share=asked)
        if ":" in what:
            pairs = [part.rsplit(":", 1) for part in what.split(",")]
            roles = tuple((plain(role), _positive(n)) for role, n in pairs)
            if not all(role for role, _ in roles) or len(dict(roles)) < len(roles):
                raise ValueError
            return Requirement(roles=roles, share=asked)
        return Requirement(passages=_positive(what), share=asked)
    except ValueError:
        raise ValueError(
            f"a requirement is 'all', a number of passages, 'role:number,role:number' or 'bundle', with '@share' behind it if not {SHARE}; got {text!r}"
        ) from None


def _positive(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise ValueError
    return int(text)


def parse_all(text: str) -> dict[str, Requirement]:
    """Requirements per slice, ``slice=requirement`` with ';' between; without a slice, or for ``*``, it holds for every slice not named.

    >>> {slice: r.passages for slice, r in parse_all("*=3; identifiers=1").items()}
    {'*': 3, 'identifiers': 1}
    """
    made: dict[str, Requirement] = {}
    for part in filter(None, (p.strip() for p in text.split(";"))):
        name, sign, what = part.rpartition("=")
        name = plain(name) if sign else REST
        if name in made:
            raise ValueError(f"slice {name!r} has two requirements in {text!r}; give each slice one")
        made[name] = parse(what)
    return {REST: Requirement()} | made


def evidence(
    pools: pd.DataFrame, judgements: pd.DataFrame, membership: pd.DataFrame, requirements: Mapping[str, Requirement], cutoff: int = 10
) -> pd.DataFrame:
    """Whether each query's pool holds what its slice requires: a row per (dataset, qid, slice), and one for slice ``all``.

    ``pools``: dataset, qid, doc_id; ``judgements``: with ``role`` and ``bundle`` where a requirement asks for them; ``membership``: dataset, qid, slice.
    Columns needed, found (passages), met (1, 0; missing where the judgements themselves hold less than is needed: no retrieval can
    meet that). In ``all`` a query must meet the requirements of every slice it belongs to.
    """
    unknown = sorted(set(requirements) - set(membership["slice"]) - {REST})
    if unknown:
        raise ValueError(f"requirements are given for {unknown}, which no query belongs to; slices are {sorted(set(membership['slice']))}")
    grouped = [r for r in requirements.values() if r.roles or r.bundle]
    lacking = {c for r in grouped for c in (["role"] if r.roles else ["bundle"]) if c not in judgements or judgements[c].isna().all()}
    if lacking:
        raise ValueError(f"a requirement asks for {' and '.join(sorted(lacking))}, but the judgements have no such column, or nothing in it; a CSV or JSON file can tell it")
    if unnamed := sorted({role for r in grouped for role, _ in r.roles} - set(judgements["role"])) if any(r.roles for r in grouped) else []:
        raise ValueError(f"a requirement asks for {unnamed}, but no judgement has that role; roles are {sorted(set(judgements['role'].dropna()))}")
    relevant = judgements[judgements["grade"] > 0].assign(
        held=lambda d: pd.MultiIndex.from_frame(d[[*KEY, "doc_id"]]).isin(pd.MultiIndex.from_frame(pools[[*KEY, "doc_id"]]))
    )
    once = relevant.drop_duplicates([*KEY, "doc_id"]).groupby(KEY)["held"].agg(["size", "sum"])
    sizes = {key: pair for key, *pair in once.itertuples(name=None)}
    by_query = {key: rows for key, rows in relevant.groupby(KEY)} if grouped else {}
    every = pd.concat([judgements[KEY], pools[KEY], membership[KEY]]).drop_duplicates()
    asked = every.merge(membership, on=KEY, how="left").fillna({"slice": REST})
    rest = requirements.get(REST, Requirement())
    rows = [
        (*key, *_counts(sizes.get(key[:2]), by_query.get(key[:2]), requirements.get(key[2], rest), cutoff))
        for key in asked[[*KEY, "slice"]].itertuples(index=False, name=None)
    ]
    found = pd.DataFrame(rows, columns=[*KEY, "slice", "needed", "found", "met"])
    by = found.assign(unknown=found["met"].isna()).groupby(KEY)
    whole = by.agg(needed=("needed", "max"), found=("found", "min"), met=("met", "min"), unknown=("unknown", "any")).reset_index()
    whole["met"] = whole["met"].mask(whole.pop("unknown"))
    return pd.concat([found[found["slice"] != REST], whole.assign(slice=EVERY)], ignore_index=True).astype({"met": float})


def _counts(sizes: list[int] | None, rows: pd.DataFrame | None, asked: Requirement, cutoff: int) -> tuple[float, float, float]:
    """(needed, found, met) of one query: ``sizes`` its relevant passages and those in the pool, ``rows`` them where roles or bundles are asked for."""
    if sizes is None:
        return NOTHING
    there, held = map(int, sizes)
    if asked.bundle:
        return _bundle(rows)
    if asked.roles:
        by_role = {role: (group["doc_id"].nunique(), group.loc[group["held"], "doc_id"].nunique()) for role, group in rows.groupby("role")}
        needed = sum(n for _, n in asked.roles)
        exist, found = (sum(min(n, by_role.get(role, (0, 0))[at]) for role, n in asked.roles) for at in (0, 1))
    else:
        needed = min(there, cutoff) if asked.passages is None else asked.passages
        exist, found = min(needed, there), min(needed, held)
    return needed, found, float("nan") if exist < needed else float(found >= needed)


def _bundle(rows: pd.DataFrame) -> tuple[float, float, float]:
    """The bundle of which most is in the pool, the smaller of equals."""
    sets = [set(ids) for _, ids in rows.dropna(subset=["bundle"]).groupby("bundle")["doc_id"]]
    if not sets:
        return NOTHING
    pool = set(rows.loc[rows["held"], "doc_id"])
    best = max(sets, key=lambda ids: (len(ids & pool) / len(ids), -len(ids)))
    return len(best), len(best & pool), float(bundle_coverage(sets, pool).complete)
