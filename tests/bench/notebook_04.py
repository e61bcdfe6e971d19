"""Notebook 04's own code cells on 10,500 rows: 1,500 questions under 7 packers, tables and figures written to a temporary folder."""
from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from unittest import mock

import pandas as pd

from lib import claims, ranking, summaries, tables  # noqa: F401  (claims: finds the published figures before the root is moved)
from tests.bench.big_outcomes import world

NOTEBOOK = tables.ROOT / "notebooks" / "04_diagnose.ipynb"
TIER = "big"


def cells() -> list[str]:
    """The notebook's code cells, the parameters replaced by the big world's."""
    made = []
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            given = f'\ntier, main_reader = "{TIER}", "smollm2-135m"\n' if "parameters" in cell["metadata"].get("tags", []) else ""
            made.append("".join(cell["source"]) + given)
    return made


def prepared(root: Path) -> None:
    """The tables that the notebook reads, written below ``root``."""
    with mock.patch.object(tables, "ROOT", root):
        made = world()
        made["retrieval"] = summaries.ranking_means(ranking.ranking_measures(made["rankings"], made["gold"]), TIER, 1_000)
        made["packing"] = summaries.survival_means(made["questions"], made["survival"], TIER, 1_000)
        empty = {name: pd.DataFrame(columns=list(tables.TABLES[name].columns)) for name in ("support", "ablations")}
        for name, table in (made | empty).items():
            tables.write(table, name, TIER)


def bench_notebook() -> str:
    """Seconds of wall clock and CPU for all cells of 04, with the slowest three."""
    with tempfile.TemporaryDirectory() as folder:
        prepared(Path(folder))
        with mock.patch.object(tables, "ROOT", Path(folder)), mock.patch("IPython.display.display", return_value=mock.Mock()):
            names, took, wall, cpu = {}, [], time.perf_counter(), time.process_time()
            for source in cells():
                before = time.process_time()
                exec(compile(source, "04", "exec"), names)  # noqa: S102  (the notebook is ours)
                took.append((time.process_time() - before, source.strip().splitlines()[0]))
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            rows = int(names["outcomes"]["em"].notna().sum())
    slowest = "; ".join(f"{seconds:.1f} s {line[:50]!r}" for seconds, line in sorted(took, reverse=True)[:3])
    return f"notebook 04 on {rows:,} read rows: {wall:.0f} s, {cpu:.0f} CPU-s; slowest cells: {slowest}"
