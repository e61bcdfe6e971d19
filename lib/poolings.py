"""Which rows a pooled figure is made of: answers of the compared packers, without and with the rows of the per-question best (SPEC 4).

Document 000 pools 10,500 rows: seven policies on 1,500 questions. Either the oracle, which is picked by the very score that is to be
predicted, is one of the seven, or an unnamed graph packer is. Both poolings are therefore reported.
"""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from lib import wording

GROUP = ["dataset", "reader", "precision"]
POOLINGS = ("policies", "with_oracle")


def groups(outcomes: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """(dataset, reader, precision) and the rows that were read there: compared packers and oracle, one pack and budget.

    Data set ``all`` pools them, where there are several. Rows get a column ``cluster`` (the question) and come in a fixed order.
    Nothing where no packer was read. Raises ValueError where a question has two rows of one policy and reader.

    >>> rows = pd.DataFrame({"dataset": ["d", "e"], "qid": "q", "policy": "naive", "reader": "r", "precision": "fp32", "em": [0.0, 1.0]})
    >>> [(key[0], len(part)) for key, part in groups(rows)]
    [('d', 1), ('e', 1), ('all', 2)]
    """
    read = outcomes[outcomes["em"].notna() & ~outcomes["policy"].isin(["closed_book"])]
    if not (read["policy"] != "oracle").any():
        return
    rows = read[read["policy"].isin([*wording.compared(list(read["policy"].unique())), "oracle"])]
    key = [*GROUP, "qid", "policy"]
    twice = rows[rows.duplicated(key)]
    if len(twice):
        row = twice.iloc[0]
        raise ValueError(f"question {row.qid} ({row.dataset}) has several rows of policy {row.policy} and reader {row.reader}: rows of one pack_id and "
                         "one budget are pooled; filter outcomes first")
    rows = rows.assign(cluster=rows["dataset"].astype(str) + ":" + rows["qid"].astype(str)).sort_values(key, kind="stable", ignore_index=True)
    yield from rows.groupby(GROUP)
    if rows["dataset"].nunique() > 1:
        for (reader, precision), part in rows.groupby(GROUP[1:]):
            yield ("all", reader, precision), part


def masks(rows: pd.DataFrame) -> dict[str, np.ndarray]:
    """Which of ``rows`` each pooling takes; ``with_oracle`` only where the oracle has rows.

    >>> {k: m.tolist() for k, m in masks(pd.DataFrame({"policy": ["naive", "oracle"]})).items()}
    {'policies': [True, False], 'with_oracle': [True, True]}
    """
    oracle = rows["policy"].eq("oracle").to_numpy(bool)
    return {"policies": ~oracle} | ({"with_oracle": np.ones(len(rows), bool)} if oracle.any() else {})


def numbers(rows: pd.DataFrame, columns: list[str]) -> np.ndarray:
    """``columns`` as floats, (rows, columns), missing as NaN; ``answer_in_context_defined`` is answer_in_context where the question has a span."""
    made = rows.assign(answer_in_context_defined=rows["answer_in_context"].where(rows["answer_defined"].astype(bool)))
    return made[columns].astype("float64").to_numpy()
