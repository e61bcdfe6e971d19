"""Learn the forest of the packer ``tuned`` on training questions, choose its rule by cross-validation, write its card data/results/models/tuned.json.

usage: python -m lib.train_tuned [--raw FOLDER] [--cache FOLDER]

The card has no time and no machine in it: with the same vectors in the cache it comes out the same, byte for byte.
"""
from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lib import cross_encoder_recipe, retrieval, settings, tuned, tuned_features, tuned_fit, tuned_training
from lib.store import StoreError
from lib.tables import write_atomically
from lib.tuned_training import Example
from lib.weights import WeightsError, identity

ENCODER = "minilm"
CACHE = retrieval.ROOT / "data" / "cache" / "vectors"
SEED = 0
BINS = 5


def learned(made: Sequence[Example], seed: int = SEED) -> dict[str, Any]:
    """What the card says of model, rule and quality: held-out chances choose the rule, then all questions make the forest."""
    published = settings.pool_id(settings.setting(**tuned_training.POOLS[0]))
    judged = [e for e in made if e.pool == published]
    chances = tuned_fit.held_out(made, published, seed)
    tried = tuned_fit.rules(judged, chances)
    rule = tuned_fit.choose(tried)
    model = tuned_fit.fit(made, published, seed)
    return {"rule": {"weights": list(tuned_fit.weights_at(rule["scale"])), "exponent": rule["exponent"], "floor": rule["floor"]},
            "choice": {"grid": tuned_fit.GRID, "spare_tokens": tuned_fit.SPARE, "near": tuned_fit.NEAR, "tried": _records(tried)},
            "quality": {"folds": tuned_fit.FOLDS, **quality(judged, chances), "packed": packed(judged, chances, rule)}, "looks_at": _importance(model), **model}


def quality(made: Sequence[Example], chances: Sequence[np.ndarray]) -> dict[str, Any]:
    """Held-out quality of the chances: AUC over all snippets and within questions, log loss, and chance against what came true in bins of equal size."""
    from sklearn.metrics import log_loss, roc_auc_score

    p, y = np.concatenate(chances), np.concatenate([e.holds for e in made])
    within = [roc_auc_score(e.holds, q) for e, q in zip(made, chances) if e.holds.any() and not e.holds.all()]
    parts = np.array_split(np.argsort(p, kind="stable"), BINS)
    return {"auc": _short(roc_auc_score(y, p)), "auc_within": _short(np.mean(within)), "log_loss": _short(log_loss(y, p)),
            "log_loss_of_mean": _short(log_loss(y, np.full(len(y), y.mean()))), "expected": [_short(p[i].mean()) for i in parts],
            "came_true": [_short(y[i].mean()) for i in parts]}


def packed(made: Sequence[Example], chances: Sequence[np.ndarray], rule: Mapping[str, float]) -> list[dict]:
    """Held-out survival of the chosen rule beside submod, a row a data set and budget: n, answer, gold, tokens."""
    out, cells = [], {k: [float(rule[k])] for k in ("scale", "exponent", "floor")}
    for name in sorted({e.dataset for e in made}):
        part = [(e, p) for e, p in zip(made, chances) if e.dataset == name]
        tried = tuned_fit.rules([e for e, _ in part], [p for _, p in part], grid=cells)
        tried = tried.assign(policy=np.where(tried["scale"].isna(), "submod", "tuned"))
        out += [{"dataset": name, "n": len(part), **r} for r in _records(tried[["policy", "budget", "answer", "gold", "tokens"]])]
    return out


def _importance(model: Mapping[str, Any]) -> dict[str, int]:
    """How often each feature splits, most often first."""
    used = pd.Series([tuned_features.NAMES[f] for t in model["trees"] for f in t["feature"] if f >= 0]).value_counts()
    return {k: int(v) for k, v in sorted(used.items(), key=lambda kv: (-kv[1], kv[0]))}


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _records(rows: pd.DataFrame) -> list[dict]:
    def plain(v):
        return v if not isinstance(v, float) else None if np.isnan(v) else _short(v)

    return [{k: plain(v) for k, v in r.items()} for r in rows.to_dict("records")]


def write_card(made: Sequence[Example], about: Mapping[str, Any], path: Path = tuned.CARD, seed: int = SEED) -> Path:
    """Write the card of ``made``: schema, features, data, rule, quality, trees."""
    each = [(e.dataset, e.qid, e.pool, len(e.holds), int(e.holds.sum())) for e in made]
    counts = pd.DataFrame(each, columns=["dataset", "qid", "pool", "snippets", "holding"])
    seen = counts.groupby(["pool", "dataset"]).agg(questions=("qid", "nunique"), snippets=("snippets", "sum"), holding=("holding", "sum")).reset_index()
    card = {"name": "tuned", "schema": tuned_features.schema(), "features": list(tuned_features.NAMES), "seed": seed, "forest": tuned_fit.FOREST,
            "extra_weight": tuned_fit.EXTRA, "training": _records(seen), **about, **learned(made, seed)}
    text = re.sub(r"[\[{][^\[\]{}]*[\]}]", _one_line, json.dumps(card, indent=1, ensure_ascii=False))
    return write_atomically(path, lambda p: Path(p).write_text(text + "\n", encoding="utf-8"))


def _one_line(inner: re.Match[str]) -> str:
    return re.sub(r"\s*\n\s*", " ", inner.group()).replace("[ ", "[").replace(" ]", "]").replace("{ ", "{").replace(" }", "}")


def run(raw: Path, cache: Path | None) -> Path:
    """Read the training files, make the examples, write the card; raises FileNotFoundError, ValueError, WeightsError, StoreError."""
    import sklearn

    recipe = cross_encoder_recipe.read_recipe()
    tables, files = cross_encoder_recipe.training_tables(recipe, raw)
    compared = cross_encoder_recipe.refuse_leaks(recipe, tables["questions"], raw)
    encoder = retrieval.SentenceEncoder(ENCODER)
    tables["rankings"] = tuned_training.rankings(tables, encoder, cache)
    made = tuned_training.examples(tables, encoder, cache)
    return write_card(made, {"files": files, "encoder": identity(ENCODER), "leak_check": compared, "versions": {"scikit-learn": sklearn.__version__}})


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lib.train_tuned", description=__doc__.splitlines()[0])
    parser.add_argument("--raw", type=Path, default=cross_encoder_recipe.RAW, help="folder of the training and evaluation files (default data/raw)")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of encoded texts (default data/cache/vectors)")
    asked = parser.parse_args(arguments)
    try:
        path = run(asked.raw, asked.cache)
    except (OSError, ValueError, WeightsError, StoreError) as error:
        print(f"train_tuned: {error}", file=sys.stderr)
        return 1
    card = json.loads(path.read_text(encoding="utf-8"))
    print(f"{path.name}: {len(card['trees'])} trees, AUC within a question {card['quality']['auc_within']}, rule {card['rule']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
