"""Train the cross-encoders of lib/recipes/cross_encoders.yaml, measure them on held-out questions, write their cards; record their scores.

usage: python -m lib.train_cross_encoder [NAME ...]      trains (resumes after a kill), measures, writes data/results/models/NAME.json
       python -m lib.train_cross_encoder --record        scores the sample tier's candidates and writes data/sample/recorded/
options: --raw FOLDER (where the training and evaluation files lie; default data/raw), --recipe FILE
"""
from __future__ import annotations

import argparse
import hashlib
import json
import logging
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lib import cross_encoder_quality, cross_encoder_recipe, weights
from lib.cross_encoder import CARDS, TRAINED
from lib.cross_encoder_fit import Trained, fit_of, train
from lib.recorded import canonical
from lib.store import StoreError
from lib.tables import write_atomically


def trained(name: str, recipe: Mapping[str, Any], tables: Mapping[str, pd.DataFrame], files: Mapping[str, str], folder: Path = TRAINED) -> Trained:
    """Train one model of the recipe, or find it trained; raises ValueError, WeightsError, StoreError."""
    model = cross_encoder_recipe.model_of(recipe, name)
    learn, _ = cross_encoder_recipe.split(tables, recipe["held_out"])
    facts = {"name": name, "recipe": {**{k: model[k] for k in ("target", "base", "pairs")}, "held_out": recipe["held_out"]},
             "base": weights.identity(model["base"]), "files": dict(files)}
    return train(cross_encoder_recipe.pairs_of(model, learn), weights.locate(model["base"]), folder / name, fit_of(model["training"]), facts)


def write_card(name: str, made: Trained, about: Mapping[str, Any], cards: Path = CARDS) -> Path:
    """Write a model's card: what is reproducible under "model" with its sha256, what depends on the machine's load under "cost"."""
    path, told = cards / f"{name}.json", made.told
    model = {"name": name, "recipe": {**told["recipe"], "training": told["training"]}, "base": told["base"], "files": told["files"], "sha256": told["sha256"],
             "start": told["start"], "versions": told["versions"], "loss": told["loss"], **about}
    cost = {"cpu_seconds": round(made.cpu_seconds)} if made.cpu_seconds else _cost(path)
    card = {"model": model, "model_sha256": hashlib.sha256(canonical(model).encode()).hexdigest(), "cost": cost}
    text = re.sub(r"\[[-+.\deE,\s]*\]", _one_line, json.dumps(card, indent=1, sort_keys=True, ensure_ascii=False)) + "\n"
    return write_atomically(path, lambda p: Path(p).write_text(text, encoding="utf-8"))


def _one_line(numbers: re.Match[str]) -> str:
    return " ".join(numbers.group().split()).replace("[ ", "[").replace(" ]", "]")


def _cost(path: Path) -> dict[str, Any]:
    """What the card that is there says of the cost: a model found trained costs nothing now."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))["cost"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def run(names: list[str], recipe_file: Path, raw: Path) -> None:
    """Train, measure and describe the named models (default: all of the recipe)."""
    recipe = cross_encoder_recipe.read_recipe(recipe_file)
    for name in names or list(recipe["models"]):  # before an hour of work
        if cross_encoder_recipe.model_of(recipe, name)["target"] == "chunk":
            raise ValueError(f"{name} learns from chunks: python -m lib.train_targets trains and measures it beside its variants")
    tables, files = cross_encoder_recipe.training_tables(recipe, raw)
    compared = cross_encoder_recipe.refuse_leaks(recipe, tables["questions"], raw)
    for name in names or list(recipe["models"]):
        made = trained(name, recipe, tables, files)
        about = cross_encoder_quality.about(cross_encoder_recipe.model_of(recipe, name), tables, recipe["held_out"], made.folder, made.told)
        path = write_card(name, made, {**about, "leak_check": compared})
        print(f"{name}: {made.told['pairs']} pairs, weights {made.told['sha256'][:12]}, card {path.name}", flush=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lib.train_cross_encoder", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="models of the recipe; default all")
    parser.add_argument("--record", action="store_true", help="score the sample tier's candidates and write the recorded layer")
    parser.add_argument("--raw", type=Path, default=cross_encoder_recipe.RAW, help="folder of the training and evaluation files")
    parser.add_argument("--recipe", type=Path, default=cross_encoder_recipe.RECIPE, help="recipe file")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        if given.record:
            from lib.record_cross_encoder import record

            print(f"reranker scores in {record()}")
        else:
            run(given.names, given.recipe, given.raw)
    except (ValueError, OSError, weights.WeightsError, StoreError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
