"""The recipe file of the trained cross-encoders and the training questions it names (SPEC 11)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from lib import datasets, training_chunks, training_evidence, training_pairs
from lib.cross_encoder_fit import fit_of
from lib.cross_encoder_model import sha256_of
from lib.inputs import KINDS
from lib.tables import ROOT

RECIPE = ROOT / "lib" / "recipes" / "cross_encoders.yaml"
RAW = ROOT / "data" / "raw"
BLOCKS = ("held_out", "training", "evaluation", "models")
FIELDS = {"target", "base", "pairs", "training"}
TARGETS = {**training_pairs.TARGETS, "chunk": training_chunks.chunk_pairs}


def read_recipe(path: Path = RECIPE) -> dict[str, Any]:
    """The recipe file: held_out, training, evaluation, models; raises ValueError, with the place to mend, for what cannot be trained."""
    recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(recipe, dict) or set(recipe) != set(BLOCKS):
        got = sorted(recipe) if isinstance(recipe, dict) else recipe
        raise ValueError(f"{path.name} needs the blocks {', '.join(BLOCKS)}, got {got!r}")
    if isinstance(recipe["held_out"], bool) or not isinstance(recipe["held_out"], int) or recipe["held_out"] < 2:
        raise ValueError(f"{path.name}: held_out must be a whole number of 2 or more, got {recipe['held_out']!r}")
    for name, model in recipe["models"].items():
        if not isinstance(model, dict) or set(model) != FIELDS or model["target"] not in TARGETS:
            raise ValueError(f"{path.name}: model {name!r} needs {', '.join(sorted(FIELDS))}, with target one of "
                             f"{', '.join(TARGETS)}; got {model!r}")
        fit_of(model["training"])
    return recipe


def model_of(recipe: Mapping[str, Any], name: str) -> dict[str, Any]:
    """One model's block; raises ValueError for a name that the recipe does not know."""
    if name not in recipe["models"]:
        raise ValueError(f"no cross-encoder is called {name!r}; the recipe knows {', '.join(recipe['models'])}")
    return recipe["models"][name]


def training_tables(recipe: Mapping[str, Any], raw: Path = RAW) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """(questions, gold, documents, pools of all training files; sha256 of each file); raises FileNotFoundError, DataError.

    Where a model learns from chunks, also ``evidence``: which sentences support (lib.training_evidence).
    """
    named = {dataset: _files(files) for dataset, files in recipe["training"].items()}
    if absent := [f for files in named.values() for f in files if not (raw / f).exists()]:
        raise FileNotFoundError(f"training files are not there: {', '.join(f'data/raw/{f}' for f in absent)}; see data/raw/README.md for where to put them")
    tables = _load(named, raw)
    if any(model["target"] == "chunk" for model in recipe["models"].values()):
        told = [training_evidence.facts(dataset, [raw / f for f in files]) for dataset, files in named.items()]
        tables["evidence"] = training_evidence.evidence(pd.concat(told, ignore_index=True), tables["documents"])
    return tables, {f: sha256_of(raw / f) for files in named.values() for f in files}


def refuse_leaks(recipe: Mapping[str, Any], questions: pd.DataFrame, raw: Path = RAW) -> dict[str, int]:
    """Raise ValueError where a training question is an evaluation question; the evaluation questions compared, by data set (0: file not at hand)."""
    compared = {}
    for dataset, files in recipe["evaluation"].items():
        at_hand = [f for f in _files(files) if (raw / f).exists()]
        asked = _load({dataset: at_hand}, raw)["questions"] if at_hand else []
        compared[dataset] = len(asked)
        if len(asked):
            training_pairs.refuse_leaks(questions, asked)
    return compared


def split(tables: Mapping[str, pd.DataFrame], one_in: int) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """(tables of the questions to train on, tables of the held-out ones); both keep the whole corpus."""
    kept = training_pairs.held_out(tables["questions"], one_in)
    return training_pairs.select(tables, ~kept), training_pairs.select(tables, kept)


def pairs_of(model: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The training pairs that a model's block asks for; raises ValueError for settings that its target does not know."""
    try:
        return TARGETS[model["target"]](tables, **model["pairs"])
    except TypeError as error:
        raise ValueError(f"pairs of target {model['target']!r}: {error}; mend pairs in the recipe") from error


def _files(named: str | Sequence[str]) -> list[str]:
    return [named] if isinstance(named, str) else list(named)


def _load(named: Mapping[str, Sequence[str]], raw: Path) -> dict[str, pd.DataFrame]:
    parts = [datasets.load(dataset, {"path": [raw / f for f in files]}) for dataset, files in named.items()]
    return {kind: pd.concat([part[kind] for part in parts], ignore_index=True) for kind in KINDS}
