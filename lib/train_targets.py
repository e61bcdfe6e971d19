"""Train the variants of lib/recipes/reranker_variants.yaml, score held-out questions and the sample corpus with each, write data/results/targets/.

usage: python -m lib.train_targets      trains and scores (resumes after a kill), writes a card a variant and targets.csv
options: --raw FOLDER (where the training and evaluation files lie; default data/raw), --recipe FILE
"""
from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lib import (
    cross_encoder_recipe,
    inputs,
    targets,
    targets_results,
    train_cross_encoder,
    training_chunks,
    training_evidence,
    weights,
)
from lib.cross_encoder import TRAINED, Scorer, score_pairs
from lib.cross_encoder_fit import Trained, fit_of, versions
from lib.cross_encoder_model import START, CrossEncoder, load_tokenizer, sha256_of, start_model
from lib.store import Store, StoreError

RECIPE = cross_encoder_recipe.ROOT / "lib" / "recipes" / "reranker_variants.yaml"


def asked(tables: Mapping[str, pd.DataFrame], one_in: int, sentences: int) -> pd.DataFrame:
    """The cases of the held-out questions and of the sample corpus, and where each data set stands: ``held out`` or ``transfer``."""
    _, kept = cross_encoder_recipe.split(tables, one_in)
    sample, _, _ = inputs.load_all({"ondrell": {}})
    sample["evidence"] = training_evidence.evidence(training_evidence.sample_facts(), sample["documents"])
    parts = (training_chunks.cases(kept, sentences=sentences).assign(where=targets.HELD_OUT),
             training_chunks.cases(sample, sentences=sentences).assign(where=targets.TRANSFER))
    return pd.concat(parts, ignore_index=True)


def counts(pairs: pd.DataFrame) -> dict[str, Any]:
    """What a card tells of the pairs: how many by data set and kind, how many are called right, of how many questions."""
    return {"pairs": {d: {k: int(n) for k, n in part.groupby("kind").size().items()} for d, part in pairs.groupby("dataset")},
            "called_right": int(pairs["label"].sum()), "questions_with_pairs": len(pairs[["dataset", "qid"]].drop_duplicates())}


def untrained(model: Mapping[str, Any], cards: Path) -> Scorer:
    """The model before any training, with a card, so that its scores are kept like the others'."""
    base, fit = weights.locate(model["base"]), fit_of(model["training"])
    told = {"recipe": {"target": "none", "base": model["base"]}, "training": {"max_length": fit.max_length}, "base": weights.identity(model["base"]),
            "files": {}, "sha256": sha256_of(base / "model.safetensors"), "start": list(START), "versions": versions(), "loss": None}
    train_cross_encoder.write_card(targets.UNTRAINED, Trained(base, told, 0.0), {}, cards)
    return CrossEncoder(start_model(base), load_tokenizer(base), fit.max_length)


def scored(cases: pd.DataFrame, name: str, store: Store, scorer: Scorer | None, cards: Path, trained: Path) -> pd.DataFrame:
    """``cases`` with the score of one variant."""
    values = score_pairs(list(zip(cases["question"], cases["text"])), {"model": name}, store, scorer=scorer, cards=cards, trained=trained)
    return cases.assign(variant=name, score=values)


def run(recipe_file: Path, raw: Path, folder: Path = targets_results.FOLDER, trained: Path = TRAINED, store: Store | None = None) -> pd.DataFrame:
    """Train, score and measure all variants; the table written to ``folder``."""
    recipe = cross_encoder_recipe.read_recipe(recipe_file)
    store = store or Store(ignore_recorded=True)
    tables, files = cross_encoder_recipe.training_tables(recipe, raw)
    compared = cross_encoder_recipe.refuse_leaks(recipe, tables["questions"], raw)
    learn, _ = cross_encoder_recipe.split(tables, recipe["held_out"])
    models = recipe["models"]
    targets.check_fair({name: cross_encoder_recipe.pairs_of(model, learn) for name, model in models.items()})
    usual = next(iter(models.values()))
    cases = asked(tables, recipe["held_out"], usual["pairs"].get("sentences", 1))
    for name, model in models.items():
        made = train_cross_encoder.trained(name, recipe, tables, files, trained)
        train_cross_encoder.write_card(name, made, {"counts": counts(cross_encoder_recipe.pairs_of(model, learn)), "leak_check": compared}, folder)
        print(f"{name}: {made.told['pairs']} pairs, weights {made.told['sha256'][:12]}", flush=True)
    start = untrained(usual, folder)
    parts = [scored(cases, name, store, start if name == targets.UNTRAINED else None, folder, trained) for name in (targets.UNTRAINED, *models)]
    return targets_results.write(targets.table(pd.concat(parts, ignore_index=True)), folder)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lib.train_targets", description=__doc__.split("\n")[0])
    parser.add_argument("--raw", type=Path, default=cross_encoder_recipe.RAW, help="folder of the training and evaluation files")
    parser.add_argument("--recipe", type=Path, default=RECIPE, help="recipe file")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        made = run(given.recipe, given.raw)
        print(f"{len(made)} rows in data/results/targets/targets.csv")
    except (ValueError, OSError, weights.WeightsError, StoreError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
