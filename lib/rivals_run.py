"""Rivals of submodular packing run beside it, on the same candidates at one budget: rows for ``lib.contest`` (SPEC 4)."""
from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from lib import packing
from lib.cross_encoder import CrossEncoderError
from lib.reader_spec import ReaderError
from lib.weights import WeightsError

FREE = ((("adagres",), {}), (("submod", "adagres"), {"relevance": "dense"}), (("submod",), {"exponent": 0.0}), (("submod",), {"greedy": "both"}))
MODELLED = ((("selective",), {}), (("submod", "naive"), {"relevance": "cross_encoder"}))  # a model reads every snippet: on some questions only


def pack_rivals(by_set: Mapping[str, packing.Bench], main: dict, budget: int, some: pd.DataFrame) -> pd.DataFrame:
    """Survival rows of every rival: those that cost nothing on all questions, those that ask a model on the questions of ``some`` (dataset, qid).

    A rival whose model is neither stored nor here is left out, and why is printed.
    """
    made = []
    for name, bench in by_set.items():
        few = bench.only(set(some.loc[some["dataset"] == name, "qid"]))
        made += [packing.pack_all(bench, packing.setting(**{**main, **change}), list(policies), [budget])["survival"] for policies, change in FREE]
        for policies, change in MODELLED if len(few.questions) else ():
            try:
                made.append(packing.pack_all(few, packing.setting(**{**main, **change}), list(policies), [budget])["survival"])
            except (CrossEncoderError, ReaderError, WeightsError) as reason:
                print(f"{name}: {', '.join(policies)}{' by a cross-encoder' if change else ''} left out: {str(reason).splitlines()[0]}")
    return pd.concat(made, ignore_index=True) if made else pd.DataFrame()
