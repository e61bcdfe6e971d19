"""Learn the forest of ``tuned`` and choose its packing rule, both by questions, on training questions alone (SPEC 4)."""
from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import packers, tuned
from lib.tuned_training import Example

FOLDS = 5
FOREST = {"max_depth": 4, "learning_rate": 0.04, "n_estimators": 150, "max_features": 0.2, "subsample": 0.5, "min_samples_leaf": 40}
EXTRA = 0.5                            # weight of a row seen through another pool than the published one
BUDGETS = (96, 128, 160, 224)
# scale: of the published weights besides that of relevance
GRID = {"scale": (1.0, 0.5, 0.25), "exponent": (1.0, 0.75, 0.5), "floor": (0.0, 0.05, 0.1, 0.15, 0.2)}
SPARE = 1.0                            # tokens: the rule must stay that far below submod's mean at every budget
NEAR = 0.01                            # shares of answers nearer than this are equal; then the documents of the gold decide


def fold_of(qid: str, folds: int = FOLDS) -> int:
    """The fold of a question by the hash of its id: all its rows, through every pool, go together."""
    return int(hashlib.sha256(f"fold:{qid}".encode()).hexdigest(), 16) % folds


def weights_of(made: Sequence[Example], published: str) -> np.ndarray:
    """A weight a row: data sets by the square root of their size (between equal questions and equal sets), other pools than ``published`` by EXTRA."""
    size = pd.Series([e.dataset for e in made if e.pool == published]).value_counts()
    each = [(1.0 if e.pool == published else EXTRA) / np.sqrt(size.get(e.dataset, 1)) for e in made]
    rows = np.repeat(each, [len(e.holds) for e in made])
    return rows / rows.mean()


def fit(made: Sequence[Example], published: str, seed: int = 0, forest: dict = FOREST) -> dict:
    """Gradient-boosted trees for log loss, as plain lists: prior and trees (thresholds to 5 decimals, leaves to 6, learning rate multiplied in).

    Raises ValueError unless some snippets hold the answer and some do not.
    """
    from sklearn.ensemble import GradientBoostingClassifier

    x, y = np.vstack([e.features for e in made]), np.concatenate([e.holds for e in made])
    if y.all() or not y.any():
        raise ValueError(f"{int(y.sum())} of {len(y)} training snippets hold an answer: nothing to tell apart; mend the training files")
    model = GradientBoostingClassifier(**forest, random_state=seed).fit(x, y, sample_weight=weights_of(made, published))
    share = float(np.average(y, weights=weights_of(made, published)))
    return {"prior": round(float(np.log(share / (1 - share))), 6), "trees": [_tree(t[0].tree_, forest["learning_rate"]) for t in model.estimators_]}


def _tree(t, rate: float) -> dict[str, list]:
    leaf = t.children_left < 0
    return {"feature": np.where(leaf, -1, t.feature).tolist(), "threshold": np.where(leaf, 0, np.round(t.threshold, 5)).tolist(),
            "left": t.children_left.tolist(), "right": t.children_right.tolist(), "value": np.where(leaf, np.round(rate * t.value[:, 0, 0], 6), 0).tolist()}


def held_out(made: Sequence[Example], published: str, seed: int = 0) -> list[np.ndarray]:
    """Chances of the published pool's examples, each from a forest that saw none of its question's rows."""
    judged = [e for e in made if e.pool == published]
    found: dict[str, np.ndarray] = {}
    for fold in range(FOLDS):
        apart = [e for e in judged if fold_of(e.qid) == fold]
        if apart:
            forest = tuned.forest_of(fit([e for e in made if fold_of(e.qid) != fold], published, seed))
            found |= {e.qid: tuned.forest_chances(forest, e.features) for e in apart}
    return [found[e.qid] for e in judged]


def judged(made: Sequence[Example], picks: Sequence[list[int]]) -> dict[str, float]:
    """Means over questions, each data set counting alike: answer, gold (share of gold documents), tokens."""
    rows = pd.DataFrame([(e.dataset, e.holds[p].any() if len(p) else False, len({e.documents[i] for i in p} & e.gold) / len(e.gold) if e.gold else np.nan,
                          e.candidates.costs[p].sum()) for e, p in zip(made, picks)], columns=["dataset", "answer", "gold", "tokens"]).astype({"answer": float})
    return {k: float(v) for k, v in rows.groupby("dataset").mean().mean().items()}


def rules(made: Sequence[Example], chances: Sequence[np.ndarray], budgets: Sequence[int] = BUDGETS, grid: dict = GRID) -> pd.DataFrame:
    """Every rule of the grid, and ``submod``, at every budget: scale, exponent, floor (missing for submod), budget, answer, gold, tokens."""
    cs = [dataclasses.replace(e.candidates, chance=p) for e, p in zip(made, chances)]
    rows = [{"budget": b, **judged(made, [[i for i, _ in packers.submod(c, b)] for c in cs])} for b in budgets]
    for scale, exponent, b in itertools.product(grid["scale"], grid["exponent"], budgets):
        whole = [tuned.tuned(c, b, weights_at(scale), exponent, 0.0) for c in cs]
        for floor in grid["floor"]:
            kept = [[i for i, _ in tuned.worthwhile(w, floor)] for w in whole]
            rows.append({"scale": scale, "exponent": exponent, "floor": floor, "budget": b, **judged(made, kept)})
    return pd.DataFrame(rows, columns=["scale", "exponent", "floor", "budget", "answer", "gold", "tokens"])


def weights_at(scale: float) -> tuple[float, ...]:
    """The published weights with those of the three terms besides relevance times ``scale``."""
    first, *others = packers.submodular.PUBLISHED_WEIGHTS
    return (first, *(scale * w for w in others))


def choose(tried: pd.DataFrame, spare: float = SPARE, near: float = NEAR) -> dict[str, float]:
    """The rule with the highest mean answer share over the budgets among those ``spare`` tokens below submod at each; near ties go to gold coverage.

    Raises ValueError where no rule stays that far below.
    """
    base = tried[tried["scale"].isna()].set_index("budget")["tokens"]
    own = tried.dropna(subset=["scale"])
    frugal = own.assign(ok=own["tokens"] <= own["budget"].map(base) - spare)
    mean = frugal.groupby(["scale", "exponent", "floor"]).agg(answer=("answer", "mean"), gold=("gold", "mean"), ok=("ok", "all")).reset_index()
    mean = mean[mean["ok"]]
    if mean.empty:
        raise ValueError(f"no rule of the grid stays {spare} tokens below submod at every budget; widen the floors of the grid")
    best = mean[mean["answer"] >= mean["answer"].max() - near].sort_values(["gold", "answer"], ascending=False).iloc[0]
    return {k: float(best[k]) for k in ("scale", "exponent", "floor")}
