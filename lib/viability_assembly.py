"""From rows of runs and judgements to the audit's tables, with everything counted that a reader of its numbers should know (SPEC 11)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lib.records import DataError
from lib.viability_ids import slice_name
from lib.viability_lists import KEY
from lib.viability_slices import no_slices

RANKINGS = [*KEY, "ranker", "rank", "doc_id", "score"]
SHOWN = 3  # ids that a message names


class Inputs(NamedTuple):
    """What an audit reads. ``counts``: what, n, meaning; ``queries`` and ``corpus`` (None where not given) serve omission causes."""

    first: pd.DataFrame
    reranked: pd.DataFrame | None
    judgements: pd.DataFrame
    membership: pd.DataFrame
    counts: pd.DataFrame
    queries: pd.DataFrame | None = None
    corpus: pd.DataFrame | None = None


def named(path: str | Path) -> str:
    """A run's name: its file's, without suffixes.

    >>> named("runs/bm25.trec.gz")
    'bm25'
    """
    whole = Path(path).name
    name = whole.removesuffix(".gz").rsplit(".", 1)[0]
    return whole if name in ("", "none") else name  # "none" says that there is no reranker


def ordered(run: pd.DataFrame, dataset: str, ranker: str, first: pd.DataFrame | None = None) -> pd.DataFrame:
    """A run as a rankings table: by score, ties by first-stage rank, then by the run's own rank column; never by a document's name.

    >>> run = pd.DataFrame({"qid": "q", "doc_id": ["z", "a"], "score": [1.0, 1.0], "rank": [1.0, 2.0]})
    >>> ordered(run, "set", "bm25")["doc_id"].tolist()
    ['z', 'a']
    """
    table = run.assign(dataset=dataset, ranker=ranker, own=run["rank"].fillna(float("inf")), before=0, at=range(len(run)))
    if first is not None:
        table = table.drop(columns="before").merge(first[["qid", "doc_id", "rank"]].rename(columns={"rank": "before"}), on=["qid", "doc_id"], how="left")
    table = table.sort_values(["qid", "score", "before", "own", "at"], ascending=[True, False, True, True, True], ignore_index=True)
    return table.assign(rank=table.groupby("qid").cumcount() + 1)[RANKINGS]


def assemble(
    run: pd.DataFrame,
    judgements: pd.DataFrame,
    reranked: pd.DataFrame | None = None,
    slices: pd.DataFrame | None = None,
    queries: pd.DataFrame | None = None,
    corpus: pd.DataFrame | None = None,
    names: tuple[str, str] = ("first stage", "reranked"),
    dataset: str = "run",
    outside: str = "error",
) -> Inputs:
    """Order, cut and count; tables as `viability_inputs` reads them (qid, not dataset).

    ``outside``: passages that only the reranked run holds are an "error", or left out and counted ("drop"). Queries of a run without any
    judgement are left out and counted. Raises DataError where run and judgements share no query, or no passage though some are relevant.
    """
    if outside not in ("error", "drop"):
        raise ValueError(f"outside must be 'error' or 'drop', got {outside!r}")
    judged = set(judgements["qid"])
    if not judged & set(run["qid"]):
        raise DataError(
            f"run and judgements share no query: the run has {_some(run['qid'])}, the judgements {_some(judgements['qid'])}; are these two files of one set?"
        )
    first = ordered(run[run["qid"].isin(judged)], dataset, names[0])
    counts = [*_counted(run, judgements, first), _nowhere(run, judgements, corpus)]
    again = None
    if reranked is not None:
        again, more = _reranked(reranked, first, judged, dataset, names[1], outside)
        counts += more
    counts += [*_known(queries, "qid", judged, "queries", "judged queries"), *_known(corpus, "doc_id", set(first["doc_id"]), "corpus", "passages of the run")]
    membership, more = _membership(slices, queries, judged | set(run["qid"]), dataset)
    made = judgements.assign(dataset=dataset)
    return Inputs(
        first,
        again,
        made[[*KEY, *[c for c in made if c not in KEY]]],
        membership,
        pd.DataFrame(counts + more, columns=["what", "n", "meaning"]),
        *(t if t is None or "dataset" not in t else t.assign(dataset=dataset) for t in (queries, corpus)),  # a file's own column names another set
    )


def _known(table: pd.DataFrame | None, key: str, wanted: set[str], name: str, what: str) -> list[tuple[str, int, str]]:
    """How many of the ``wanted`` ids a table of texts lacks; DataError where it has none of them: it is of another set."""
    if table is None:
        return []
    lost = wanted - set(table[key])
    if len(lost) == len(wanted):
        raise DataError(f"the {name} file holds none of the {what} ({_some(pd.Series(sorted(wanted)))}); it has {_some(table[key])}: are these files of one set?")
    meaning = "of unknown cause, if anything is missing there" if key == "qid" else "a passage that is not in the corpus counts as missing from the index"
    return [(f"{what} that the {name} file lacks", len(lost), meaning)]


def _some(ids: pd.Series) -> str:
    return ", ".join(repr(i) for i in ids.drop_duplicates()[:SHOWN])


def _counted(run: pd.DataFrame, judgements: pd.DataFrame, first: pd.DataFrame) -> list[tuple[str, int, str]]:
    judged, asked = set(judgements["qid"]), set(run["qid"])
    relevant = set(judgements.loc[judgements["grade"] > 0, "qid"])
    once = judgements.drop_duplicates(["qid", "doc_id"])
    out_of_step = _out_of_step(run)
    tied = first[first.duplicated(["qid", "score"], keep=False)]["qid"].nunique()
    bundled = judgements["bundle"].notna() if "bundle" in judgements else pd.Series(False, index=judgements.index)
    return [
        ("judged queries", len(judged), "rows of the audit"),
        ("queries missing from the run", len(relevant - asked), "score 0 and stay in every mean"),
        ("queries without any judgement", len(asked - judged), "left out: nothing is known about them"),
        ("queries without a relevant passage", len(judged - relevant), "undefined, left out of the means; document 001's script calls them total omission"),
        ("negative grades", int((once["grade"] < 0).sum()), "count as 0"),
        ("uncertain grades", int(once["grade"].isna().sum()), "unjudged, not 0"),
        ("repeated judgements", int((judgements.duplicated(["qid", "doc_id", *(["role"] if "role" in judgements else [])]) & ~bundled).sum()), "the same grade twice, kept once"),
        ("queries whose rank column contradicts their scores", out_of_step, "ordered by score"),
        ("queries with tied first-stage scores", tied, "ordered by the run's rank column; see the worst and best bounds"),
    ]


def _nowhere(run: pd.DataFrame, judgements: pd.DataFrame, corpus: pd.DataFrame | None) -> tuple[str, int, str]:
    """How many judged passages no list holds; DataError where that is all of them, some are relevant, and no corpus shows that their names are sound."""
    wanted, sound = set(judgements["doc_id"]), set() if corpus is None else set(corpus["doc_id"])
    lost = wanted - set(run["doc_id"])
    if lost == wanted and (judgements["grade"] > 0).any() and not wanted & sound:
        raise DataError(
            f"run and judgements share no passage: the run has {_some(run['doc_id'])}, the judgements {_some(judgements['doc_id'])}; name each passage "
            "alike in both files ('doc' in one and 'doc#section' in the other are two passages). If the names are right and no list holds any "
            "judged passage, give the corpus, too: ids found there are believed"
        )
    return "judged passages whose id no list holds", len(lost), "missing from every pool; if there are many, see whether both files name passages alike"


def _out_of_step(run: pd.DataFrame) -> int:
    known = run.dropna(subset=["rank"]).sort_values(["qid", "rank"], kind="stable")
    rising = known.groupby("qid")["score"].diff() > 0
    return int(known.loc[rising, "qid"].nunique())


def _reranked(run: pd.DataFrame, first: pd.DataFrame, judged: set[str], dataset: str, ranker: str, outside: str):
    here = run[run["qid"].isin(judged)]
    inside = pd.MultiIndex.from_frame(here[["qid", "doc_id"]]).isin(pd.MultiIndex.from_frame(first[["qid", "doc_id"]]))
    if not inside.all() and outside == "error":
        row = here[~inside].iloc[0]
        raise DataError(
            f"the reranked run holds {row['doc_id']!r} for query {row['qid']!r}, which the first stage did not retrieve ({(~inside).sum():,} such rows in "
            "all): a pure reranker only reorders its pool. Audit it as a first stage (--run), or leave such rows out (--outside drop)"
        )
    if not inside.any():
        raise DataError(f"the reranked run holds no passage of the first stage for any judged query; it has queries {_some(run['qid'])}")
    again = ordered(here[inside], dataset, ranker, first)
    asked, left = set(first["qid"]), len(first[first["qid"].isin(set(again["qid"]))]) - len(again)
    tied = again[again.duplicated(["qid", "score"], keep=False)]["qid"].nunique()
    return again, [
        ("queries missing from the reranked run", len(asked - set(again["qid"])), "its score is 0 there"),
        ("candidates that the reranked run left out", left, "not ranked by it; nothing is added for them"),
        ("reranked rows outside the pool", int((~inside).sum()), "left out (--outside drop)" if outside == "drop" else "any would be an error (--outside)"),
        ("queries with tied reranked scores", tied, "ties go by first-stage rank"),
    ]


def _membership(slices: pd.DataFrame | None, queries: pd.DataFrame | None, known: set[str], dataset: str):
    if slices is None and queries is not None and "slice" in queries:
        slices = queries[["qid", "slice"]].dropna()
    if slices is None:
        return no_slices(), []
    slices = slices.assign(slice=[slice_name(name, f"slice of query {qid!r}") for qid, name in zip(slices["qid"], slices["slice"])]).dropna(subset=["slice"])
    strange = ~slices["qid"].isin(known)
    if strange.all():
        raise DataError(f"no query of the slices is in the run or the judgements; they name {_some(slices['qid'])}")
    return slices[~strange].assign(dataset=dataset)[[*KEY, "slice"]], [("rows of slices for unknown queries", int(strange.sum()), "left out")]


def from_tables(
    rankings: pd.DataFrame, gold: pd.DataFrame, scope: str, first_stage: str, reranker: str | None = None, membership: pd.DataFrame | None = None
) -> Inputs:
    """An audit's inputs from the compendium's own tables: one scope, the first-stage ranker, and a reranker's lists if named.

    Ranks are taken as they stand. Raises ValueError for a ranker that the scope does not have.
    """
    here = rankings[rankings["scope"] == scope]
    wanted = [r for r in (first_stage, reranker) if r is not None]
    if lost := sorted(set(wanted) - set(here["ranker"])):
        raise ValueError(f"rankings of scope {scope!r} hold no ranker {', '.join(lost)}; there are {sorted(set(here['ranker']))}")
    first, again = (None if r is None else here.loc[here["ranker"] == r, RANKINGS].reset_index(drop=True) for r in (first_stage, reranker))
    member = no_slices() if membership is None else membership[[*KEY, "slice"]]
    return Inputs(first, again, gold[gold["dataset"].isin(set(first["dataset"]))], member, pd.DataFrame(columns=["what", "n", "meaning"]))
