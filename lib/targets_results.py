"""The results of the variants on file, data/results/targets/targets.csv: read and written without training data or weights (SPEC 11)."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lib import tables

FOLDER = tables.ROOT / "data" / "results" / "targets"
MEND = "restore it with `git checkout -- data/results/targets`, or run `python -m lib.train_targets` (training files in data/raw/train, see data/raw/README.md)"
ORDER = ["document_easy", "document_mixed", "support_easy", "support_near", "support_mixed", "untrained", "first sentence"]
TEXTS = ("where", "dataset", "variant", "control", "measure", "kind")


def read(tier: str, folder: Path = FOLDER) -> pd.DataFrame:
    """The declared table ``targets`` for ``tier``; FileNotFoundError or ValueError, with the mend, where the file is missing or damaged."""
    path = folder / "targets.csv"
    if not path.exists():
        raise FileNotFoundError(f"the results of the variants are not there (data/results/targets/{path.name}); {MEND}")
    raw = path.read_bytes()
    try:
        made = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, "string"), keep_default_na=False,
                           na_values={c: [""] for c in ("estimate", "ci_low", "ci_high", "p_value", "p_holm", "n")})
        if raw[-1:] != b"\n":
            raise ValueError("its last line has no end")
        return tables.check(made.assign(tier=tier), "targets")
    except ValueError as error:
        raise ValueError(f"data/results/targets/{path.name} cannot be read ({error}); {MEND}") from error


def write(made: pd.DataFrame, folder: Path = FOLDER) -> pd.DataFrame:
    """Write the table of lib.targets, checked, sorted and to six digits: the same rows give the same bytes; returns what was written."""
    checked = tables.check(made.assign(tier="any"), "targets").drop(columns="tier")
    tables.write_atomically(folder / "targets.csv", lambda p: tables.six_digits(checked).to_csv(p, index=False, lineterminator="\n"))
    return checked


def told(table: pd.DataFrame, measure: str | Sequence[str], kinds: Sequence[str], control: str = "none") -> pd.DataFrame:
    """Rows of the whole groups, variants in their order and kinds as given: levels, or with ``control="any"`` contrasts; undefined ones left out."""
    measures = [measure] if isinstance(measure, str) else list(measure)
    rows = table[table["measure"].isin(measures) & table["kind"].isin(list(kinds)) & (table["control"].ne("none") == (control == "any"))]
    rows = rows[whole(rows)].dropna(subset=["estimate"])
    places = {"variant": ORDER, "control": ORDER, "kind": list(kinds), "measure": measures}
    return rows.sort_values(["where", *places], key=lambda c: _placed(c, places[c.name]) if c.name in places else c, ignore_index=True)


def _placed(names: pd.Series, order: Sequence[str]) -> pd.Series:
    """Where each name stands in its order; those that are not in it last."""
    return names.map({name: at for at, name in enumerate(order)}).fillna(len(order))


def whole(rows: pd.DataFrame) -> pd.Series:
    """True for the widest group of each place: all held-out questions where there are several data sets, else the one there is."""
    several = {w for w, part in rows.groupby("where") if (part["dataset"] == "all").any()}
    return pd.Series([(d == "all") == (w in several) for w, d in zip(rows["where"], rows["dataset"])], index=rows.index, dtype=bool)
