"""The counterpart of every table and figure of document 002 in a run, with what could not be run said in the row (table gating_counterparts)."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pandas as pd

from lib.chart_words import listed
from lib.declarations_gating_published import GATING_PUBLISHED
from lib.gating_features import NAMES
from lib.gating_nested import KS
from lib.gating_published import STANDS
from lib.gating_words import BUDGET, COVERAGE
from lib.wording import named

COLUMNS = list(GATING_PUBLISHED["gating_counterparts"]["columns"])
PUBLISHED_KS = (1, 3, 5, 7, 10)  # of Tables 9 and 12
ENCODERS = ("NV-Embed-v2", "PhaseGraph", "BGE-large", "Qwen3-8B", "e5-mistral")
ANSWERER = "Llama-3.3-70B"
Made = Mapping[str, pd.DataFrame]


class Part(NamedTuple):
    """A table or figure of the document: what it shows, our table, which of its rows, the data sets and K it needs, and what else to ask of it."""

    source: str
    shows: str
    table: str
    rows: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table
    datasets: tuple[str, ...] = tuple(STANDS)
    ks: tuple[int, ...] = ()
    more: Callable[[pd.DataFrame, Made], list[str]] = lambda rows, made: []


def _drawn(bins: pd.DataFrame) -> pd.DataFrame:
    return bins[(bins["rule"] == BUDGET) & (bins["form"] == "calibrated") & (bins["count"] > 0)]


def _ruled(rule: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table[table["rule"] == rule]


def _corpus(rows: pd.DataFrame, made: Made) -> list[str]:
    documents = made.get("documents")
    lost = [d for d in dict.fromkeys(rows["dataset"]) if documents is None or not (documents["dataset"] == d).any()]
    return [f"how many passages and titles were searched ({', '.join(named(d) for d in lost)}: the passages are not in the table `documents`)"] if lost else []


def _reranker(rows: pd.DataFrame, made: Made) -> list[str]:
    """Who reranked: the document's reranker is a language model; ours is named, and on how many questions a language model ordered the same pool."""
    usage, pools = made.get("gate_usage"), made.get("gate_pools")
    if usage is None or usage.empty:
        return ["who reranked is not told (no table gate_usage)"]
    names, every = sorted(set(usage["reranker"])), len(usage[["dataset", "qid"]].drop_duplicates())
    if all(_language(n) for n in names):
        return []
    asked = pools[pools["reranker"].map(_language)][["dataset", "qid"]].drop_duplicates() if pools is not None and len(pools) else ()
    subset = f"a language model ordered the pools of {len(asked)} of {every}" if len(asked) else "no language model's order is here"
    quoted = listed([f'"{n}"' for n in names])
    return [f"the document's reranker, a large language model, on all questions: here {quoted} orders {every:,} questions, {subset}"]


def _language(name: str) -> bool:
    return str(name).endswith(" yes/no")


def _student(rows: pd.DataFrame, made: Made) -> list[str]:
    lost = int(rows["always_d_delta"].isna().sum())
    return [f"the student D in {lost} of {len(rows)} cells"] if lost else []


def _nine(rows: pd.DataFrame, made: Made) -> list[str]:
    cells = int(rows["cells"].max()) if len(rows) else 0
    return [f"{cells} cells instead of 9"] if 0 < cells < 9 else []


def _rules(rows: pd.DataFrame, made: Made) -> list[str]:
    lost = [r for r in (COVERAGE, "budget 0.5", BUDGET, "budget 2") if r not in set(rows["rule"])]
    return [*([f"the rules {listed(lost)}"] if lost else []), *_nine(rows, made)]


def _encoders(rows: pd.DataFrame, made: Made) -> list[str]:
    here = ", ".join(dict.fromkeys(rows["pool"]))
    return [f"pools of {listed(ENCODERS)}, whose weights are not at hand: the pools here are {here}", *_reranker(rows, made)]


def _answerer(rows: pd.DataFrame, made: Made) -> list[str]:
    """The answers replayed are the run's own reader's, on as many questions as it read."""
    short = rows[rows["covered"] < rows["n"]].sort_values("covered")
    worst = [f"the gated list was not read for all questions in {len(short)} of {len(rows)} rows (at worst for {r.covered} of {r.n})"
             for r in short[:1].itertuples()]
    return [f"the answerer {ANSWERER}: the answers are those of this run's reader", *worst]


def _all_lists(rows: pd.DataFrame, made: Made) -> list[str]:
    return [*_answerer(rows, made), "F1 on the list of the document's own encoder (PhaseGraph), which is not at hand"]


def _counted(rows: pd.DataFrame, made: Made) -> list[str]:
    short, times = rows[rows["measured"] < rows["n"]], int(rows["always_seconds"].isna().sum())
    return [*([f"token counts of each question in {len(short)} of {len(rows)} rows"] if len(short) else []),
            *([f"seconds in {times} of {len(rows)} rows"] if times else [])]


PARTS = (
    Part("Table 2", "evaluation sets", "gating_always", more=_corpus),
    Part("Table 3", "always reranking against H", "gating_always", ks=KS, more=_reranker),
    Part("Table 4", "the gate under the coverage rule, held out", "gating_cells", _ruled(COVERAGE), ks=KS),
    Part("Table 5", "baselines under the same protocol", "gating_baselines", _ruled(COVERAGE), ks=KS, more=_student),
    Part("Table 6", "inner folds' promise against held-out skips", "gating_cells", _ruled(COVERAGE), ks=KS),
    Part("Table 7", "the 1 pp budget: expected and realised harm, calibration", "gating_harm", _ruled(BUDGET), ks=KS),
    Part("Table 8", "the rules beside each other", "gating_rules", datasets=(), more=_rules),
    Part("Table 9", "larger pools for the reranker", "gating_pools", datasets=("2wiki",), ks=PUBLISHED_KS, more=_encoders),
    Part("Table 10", "answer F1 of always H and always reranking", "gating_replayed", ks=(5,), more=_all_lists),
    Part("Table 11", "answer F1 of the gate, replayed", "gating_replayed", ks=(5,), more=_answerer),
    Part("Table 12", "LastHop@K against K", "gating_lasthop", ks=PUBLISHED_KS),
    Part("Table 13", "cost of reranking", "gating_cost", _ruled(COVERAGE), ks=KS, more=_counted),
    Part("Figure 1", "promised against realised harm by bin", "gating_reliability", _drawn),
    Part("Figure 2", "skip rate and delta of every cell", "gating_cells", _ruled(COVERAGE), ks=KS),
)


def counterparts(tier: str, made: Made) -> pd.DataFrame:
    """The table gating_counterparts: a row a table and figure of document 002. ``made``: the run's tables by their declared names (gating_always, ...; also
    gate_usage and gate_pools, which tell who reranked); a table that is not among them was not made.
    """
    features = {"source": "Table 1", "shows": "the features of the gate", "ours": "lib.gating_features", "rows": len(NAMES)}
    rows = [{"tier": tier, **row} for row in (features, *(_row(part, made) for part in PARTS))]
    return pd.DataFrame(rows).reindex(columns=COLUMNS).astype({"questions": "Int64"})


def _row(part: Part, made: Made) -> dict:
    table = made.get(part.table)
    start = {"source": part.source, "shows": part.shows, "ours": part.table}
    if table is None or table.empty or (rows := part.rows(table)).empty:
        why = "was not made" if table is None else "has no row" if table.empty else "has no row of the rule that it shows"
        return start | {"rows": 0, "not_run": f"all of it: table {part.table} {why} in this run"}
    count = next((c for c in ("n", "questions") if c in rows), None)
    told = {"rows": len(rows), "questions": int(rows[count].max()) if count else pd.NA,
            "datasets": ", ".join(dict.fromkeys(rows["dataset"])) if "dataset" in rows else pd.NA}
    return start | told | {"not_run": "; ".join([*_lost_sets(part, rows), *_lost_ks(part, rows), *part.more(rows, made)]) or pd.NA}


def _lost_sets(part: Part, rows: pd.DataFrame) -> list[str]:
    if not part.datasets or "dataset" not in rows:
        return []
    here = dict.fromkeys(rows["dataset"])
    lost = [named(d) for d in part.datasets if not set(STANDS[d]) & set(here)]
    return [f"{listed(lost)}: this run has others"] if lost else []


def _lost_ks(part: Part, rows: pd.DataFrame) -> list[str]:
    lost = [str(k) for k in part.ks if k not in set(rows["k"])]
    return [f"K {listed(lost)}"] if lost else []
