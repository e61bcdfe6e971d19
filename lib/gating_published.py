"""Document 002's printed gate beside ours: the same cells, the same bound, and the document's own slips (data/published/gating_*.csv)."""
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import stats
from lib.chart_words import GAP, listed, signed
from lib.claims import FOLDER
from lib.declarations_gating_published import GATING_PUBLISHED
from lib.gate import skip_delta, within
from lib.gating_bound import lower_bound
from lib.gating_cells import POINT
from lib.gating_features import NAMES
from lib.gating_words import BUDGET, COVERAGE, RULE_WORDS, none, paragraphs
from lib.wording import named

STANDS = {"2wiki": ("2wiki", "2wiki-corpus"), "musique": ("musique",), "hotpotqa": ("hotpotqa",)}  # published data set -> ours
KEYS = {"always": ["dataset", "k"], "cells": ["dataset", "k", "rule"], "rules": ["rule"], "lasthop": ["dataset", "pipeline", "k"]}
NOT_PRINTED = "its row is not in the document's text"
COLUMNS = list(GATING_PUBLISHED["gating_published"]["columns"])


class Printed(NamedTuple):
    """``always``: Tables 2, 3, 5 and 13 by data set and K; ``cells``: Tables 4 to 7 and 13, by rule, too; ``rules``: Table 8; ``lasthop``: Table 12.

    Rates are per cent, deltas and harms pp, hit rates shares, as printed."""

    always: pd.DataFrame
    cells: pd.DataFrame
    rules: pd.DataFrame
    lasthop: pd.DataFrame


def read(folder: Path = FOLDER) -> Printed:
    """The printed figures; raises ValueError for a file that is not there, lacks a key column or holds a key twice."""
    made = []
    for name, key in KEYS.items():
        path = folder / f"gating_{name}.csv"
        if not path.exists():
            raise ValueError(f"{path.name} is not in {folder.name}; it holds document 002's figures and belongs to the repository")
        table = pd.read_csv(path)
        if missing := [c for c in key if c not in table]:
            raise ValueError(f"{path.name}: columns {missing} are missing, found {list(table)[:8]}")
        if table.duplicated(key).any():
            raise ValueError(f"{path.name}: {table.loc[table.duplicated(key), key].iloc[0].to_dict()} stands twice; keep one row a key")
        made.append(table)
    return Printed(*made)


def beside(always: pd.DataFrame, cells: pd.DataFrame, harms: pd.DataFrame, tier: str, printed: Printed | None = None) -> pd.DataFrame:
    """The table gating_published: a row a published data set, K, rule and data set of ours that stands for it; one row with ``why`` where there is none.

    Tables gating_always, gating_cells and gating_harm of a run. The published bound is ours, computed from the published counts.
    """
    printed, rows = printed or read(), []
    told = {(r["dataset"], r["k"], r["rule"]): r for _, r in printed.cells.iterrows()}
    ours = {"always": always.set_index(KEYS["always"]), "cells": cells.set_index(KEYS["cells"]), "harms": harms.set_index(KEYS["cells"])}
    for _, one in printed.always.iterrows():
        for rule in (COVERAGE, BUDGET):
            there = [d for d in STANDS[one["dataset"]] if (cells["dataset"] == d).any()]
            left, why = _published(one, told.get((one["dataset"], one["k"], rule)))
            for name in there or ["none"]:
                right, because = _ours(name, one["k"], rule, ours) if there else ({}, _absent(one["dataset"]))
                rows.append({"tier": tier, "dataset": one["dataset"], "k": one["k"], "rule": rule, "compared_with": name, **left, **right,
                             "why": "; ".join(filter(None, [why, because])) or pd.NA})
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _absent(dataset: str) -> str:
    return f"not run here: {named(dataset)} is no part of this run"


def _published(one: pd.Series, cell: pd.Series | None) -> tuple[dict, str]:
    n = int(one["n"])
    if cell is None:
        return {"published_n": n}, NOT_PRINTED
    harm, gain = int(cell["harmful"]), int(cell["beneficial"])
    bound = lower_bound(gain, harm, n)
    return {"published_n": n, "published_always": one["delta"], "published_skip": cell["skip"] / 100, "published_delta": cell["delta"],
            "published_harmful": harm, "published_beneficial": gain, "published_bound": bound, "published_within": within(skip_delta(gain, harm, n), POINT),
            "published_surely": within(bound, POINT), "published_expected": cell["expected"], "published_realised": 100 * harm / n}, ""


def _ours(dataset: str, k: int, rule: str, ours: dict[str, pd.DataFrame]) -> tuple[dict, str]:
    if (dataset, k, rule) not in ours["cells"].index:
        return {}, f"not run here: no cell of {named(dataset)} at K {k} under {RULE_WORDS[rule]}"
    cell = ours["cells"].loc[(dataset, k, rule)]
    made = {c: cell[c] for c in ("n", "skip", "delta", "ci_low", "ci_high", "bound", "harmful", "beneficial", "within")} | {"surely": cell["surely_within"]}
    harm = ours["harms"].loc[(dataset, k, rule)] if (dataset, k, rule) in ours["harms"].index else {}
    made |= {c: harm[c] for c in ("expected", "realised") if len(harm)}
    return made | ({"always": ours["always"].loc[(dataset, k), "delta"]} if (dataset, k) in ours["always"].index else {}), ""


def published_words(table: pd.DataFrame, printed: Printed | None = None) -> str:
    """How many printed cells keep the 1 pp rule by the bare delta and surely, and how ours stand; what a gate chosen for one K costs at another."""
    printed, out = printed or read(), []
    for rule, rows in table.groupby("rule", sort=False):
        told, said = rows.dropna(subset=["published_bound"]).drop_duplicates(["dataset", "k"]), []
        if len(told):
            said.append(f"Of {len(told)} printed cells under {RULE_WORDS[rule]}, {_kept(told, 'published_')}, by the bound that their own counts give"
                        f" ({signed(told['published_bound'].min(), 1)} to {signed(told['published_bound'].max(), 1)}{GAP}pp).")
        here = rows[rows["compared_with"] != "none"].dropna(subset=["bound"])
        if len(here):
            said.append(f"Of {len(here)} here that stand beside them, {_kept(here, '')}; {_near(here)}.")
        out.append(" ".join(said))
    if (table["compared_with"] == "none").all() and len(table):
        out.append("No data set of this run stands beside the published ones, so nothing is compared.")
    return paragraphs([*out, *_other_k(printed.lasthop)])


def _kept(rows: pd.DataFrame, start: str) -> str:
    inside, sure = (int(rows[f"{start}{c}"].astype(bool).sum()) for c in ("within", "surely"))
    return f"{none(inside)} {'keeps' if inside == 1 else 'keep'} 1{GAP}pp as measured and {none(sure)} surely"


def _near(rows: pd.DataFrame) -> str:
    known = rows.dropna(subset=["published_delta", "ci_low", "ci_high"])
    if known.empty:
        return "none has a printed delta"
    held = int(((known["ci_low"] <= known["published_delta"]) & (known["published_delta"] <= known["ci_high"])).sum())
    return f"in {held} of {len(known)} our interval holds the printed delta"


def _other_k(depth: pd.DataFrame) -> list[str]:
    """The gate of K 10 read at K 1, from Table 12."""
    wide = depth[depth["k"] == 1].pivot(index="dataset", columns="pipeline", values="coverage").dropna()
    told = [f"{signed(100 * (r['gated'] - r['rerank']), 1)}{GAP}pp on {named(d)}" for d, r in wide.iterrows()]
    return [f"A gate chosen for K 10 is no gate for K 1: read there, the published ones cost {listed(told)} (from hit rates of three digits)."] if told else []


def faults(printed: Printed | None = None) -> str:
    """The document's own slips, a line and Markdown points, with the numbers that show them computed from what it prints."""
    printed = printed or read()
    points = "\n".join(f"- {text}" for text in (*_not_in_text(printed), *_signs(printed.always), *_others(printed.cells)))
    return f"What to know of the document's own figures:\n\n{points}"


def rest(printed: Printed, rule: str) -> dict[str, float]:
    """What Table 8 leaves for the cells that are not printed: how many, their skip rates and deltas added up (per cent, pp), harmful and beneficial skips.

    >>> {k: round(float(v), 2) for k, v in rest(read(), "coverage").items()}
    {'cells': 3.0, 'skip': 218.6, 'harmful': 55.0, 'beneficial': 38.0, 'delta': -3.26}
    """
    macro = printed.rules.set_index("rule").loc[rule]
    told = printed.cells[printed.cells["rule"] == rule]
    missing = printed.always.merge(told[["dataset", "k", "harmful"]], how="left", on=["dataset", "k"])
    n = missing.loc[missing["harmful"].isna(), "n"]
    harm, gain = macro["harmful"] - told["harmful"].sum(), macro["beneficial"] - told["beneficial"].sum()
    return {"cells": macro["cells"] - len(told), "skip": macro["cells"] * macro["skip"] - told["skip"].sum(), "harmful": harm, "beneficial": gain,
            "delta": 100 * (gain - harm) / n.iloc[0] if n.nunique() == 1 else np.nan}  # one n: the deltas add up to the counts over it


def _not_in_text(printed: Printed) -> Iterable[str]:
    left, worst = rest(printed, COVERAGE), printed.rules.set_index("rule").loc[COVERAGE, "worst"]
    told = printed.cells[printed.cells["rule"] == COVERAGE]
    alone = f"; one of them must be Table 8's worst, {signed(worst, 2)}{GAP}pp, so those of the others add up to {signed(left['delta'] - worst, 2)}"
    alone = alone if (told["delta"] > worst).all() else ""
    yield (f"HotpotQA's rows of Tables 3 to 7 and 13 are not in the text. Table 8 less the printed rows leaves for its {left['cells']:.0f} cells "
           f"{left['skip']:.1f} points of skips, {left['harmful']:.0f} harmful and {left['beneficial']:.0f} beneficial ones, and deltas that add up to "
           f"{signed(left['delta'], 2)}{GAP}pp{alone}.")
    lost = printed.always[printed.always["h"].notna() & printed.always["always_h_delta"].isna()]
    yield from (f"Table 5 has no row of {named(r['dataset'])} at K {r['k']}." for _, r in lost.iterrows())


def _signs(always: pd.DataFrame) -> Iterable[str]:
    for _, r in always.dropna(subset=["p"]).iterrows():
        exact = stats.sign_test(int(r["wins"]), int(r["losses"]))
        if abs(exact - r["p"]) > 0.1 * exact:
            yield (f"Table 3 prints p = {r['p']:.3f} for {named(r['dataset'])} at K {r['k']}; the exact sign test of {r['wins']:.0f} wins and "
                   f"{r['losses']:.0f} losses gives "
                   f"{exact:.1e}.")


def _others(cells: pd.DataFrame) -> Iterable[str]:
    yield f"Of the {len(NAMES)} features of Table 1 two repeat others: the largest score of a sorted list is its first, for H and for V."
    for _, r in cells[cells["ece"] > cells["ece_raw"]].iterrows():
        yield (f"Platt scaling is not a gain everywhere: in Table 7 the calibration error of {named(r['dataset'])} at K {r['k']} rises from {r['ece_raw']:.3f} "
               f"to {r['ece']:.3f}.")
    yield ("Printed AUCs go down to 0.16, and the text does not say which pairs count. Pairs across folds compare the chances of different models, "
           "which pulls the share below a half by construction; ours are pairs within folds, with the other number beside.")
