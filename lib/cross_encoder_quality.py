"""How good a trained cross-encoder is on held-out training questions: order, reading, calibration, each with n and interval (SPEC 11)."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lib import bootstrap, cross_encoder_recipe, ranking, retrieval, stats, training_pairs
from lib.cross_encoder import Scorer
from lib.cross_encoder_model import CrossEncoder, load_model, load_tokenizer
from lib.passages import half
from lib.training_answers import holds

KEY = ["dataset", "qid"]
MEASURES = ("auc", "mrr", "ndcg_at_5", "all_gold_at_5")
RIVALS = ("dense", "bm25")
BINS = 10


def about(model: Mapping[str, Any], tables: Mapping[str, pd.DataFrame], one_in: int, folder: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    """What a model card tells beside the recipe: counts, and quality on the questions held out (of every ``one_in`` one)."""
    learn, kept = cross_encoder_recipe.split(tables, one_in)
    scorer = CrossEncoder(load_model(folder), load_tokenizer(folder), told["training"]["max_length"])
    encoder, target = retrieval.SentenceEncoder(model["base"]), model["target"]
    asked, gold = relevant(kept, target)
    rankings = own_rankings(asked, kept, scorer, encoder)
    pairs = cross_encoder_recipe.pairs_of(model, kept)
    reading = {"reading": reading_table(pairs, scorer, encoder)} if target == "support" else {}
    return {"counts": counts(cross_encoder_recipe.pairs_of(model, learn), learn, kept, gold), "held_out": {
        "order": order_table(rankings, gold), **reading, "calibration": calibration(rankings, gold)}}


def relevant(tables: Mapping[str, pd.DataFrame], target: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(questions with what is asked of the passages in column ``question``, gold): for ``support`` question + answer, and gold that holds the answer.

    Questions that ``support`` is not taught (no span, or the answer stands in the question) are left out.
    A search for the answer's words would order these passages almost perfectly, since gold holds them by definition: ``reading_table`` asks more.
    """
    questions, gold = tables["questions"], tables["gold"]
    if target == "rerank":
        return questions, gold
    made = [a for a in training_pairs.asked_of(tables) if a.holders and not any(holds(x, a.question) for x in a.answers)]
    rows = [(a.dataset, a.qid, training_pairs.support_query(a.question, a.answers[0])) for a in made]
    held = pd.DataFrame([(a.dataset, a.qid, d, 1) for a in made for d in a.holders], columns=[*KEY, "doc_id", "grade"])
    return pd.DataFrame(rows, columns=[*KEY, "question"]), held


def own_rankings(asked: pd.DataFrame, tables: Mapping[str, pd.DataFrame], scorer: Scorer, encoder: retrieval.Encoder) -> pd.DataFrame:
    """Each question's own paragraphs in the order of cross_encoder, dense and bm25 (idf from the held-out questions' paragraphs)."""
    parts = []
    for dataset, questions in asked.groupby("dataset"):
        pools = tables["pools"][(tables["pools"]["dataset"] == dataset) & tables["pools"]["qid"].isin(questions["qid"])]
        documents = tables["documents"][(tables["documents"]["dataset"] == dataset) & tables["documents"]["doc_id"].isin(pools["doc_id"])]
        first = retrieval.rank(questions, documents, pools, encoder, scopes=("own",), depth=len(documents))
        parts += [first[first["ranker"].isin(RIVALS)], _reranked(questions, documents, first[first["ranker"] == "dense"], scorer)]
    return pd.concat(parts, ignore_index=True)


def _reranked(questions: pd.DataFrame, documents: pd.DataFrame, first: pd.DataFrame, scorer: Scorer) -> pd.DataFrame:
    text = {d.doc_id: retrieval.passage(d.title, d.text) for d in documents.itertuples()}
    said = questions.set_index("qid")["question"]
    scored = first.assign(score=scorer.score([(said[q], text[d]) for q, d in zip(first["qid"], first["doc_id"])]), ranker="cross_encoder")
    ties = dict(zip(text, retrieval.tie_breaks(list(text.values()))))
    scored = scored.assign(tie=scored["doc_id"].map(ties)).sort_values(["qid", "score", "tie"], ascending=[True, False, True], ignore_index=True)
    return scored.assign(rank=scored.groupby("qid").cumcount() + 1).drop(columns="tie")


def order_table(rankings: pd.DataFrame, gold: pd.DataFrame) -> dict[str, Any]:
    """{data set or "all": {n, measures, differences}}: means of each ranker with 95 % intervals over questions, and cross_encoder - rival with p."""
    gold = gold[pd.MultiIndex.from_frame(gold[KEY]).isin(pd.MultiIndex.from_frame(rankings[KEY]))]
    rows = ranking.ranking_measures(rankings, gold, ks=(5,)).merge(aucs(rankings, gold), on=[*KEY, "ranker"], how="left")
    wide = rows.pivot(index=KEY, columns="ranker", values=list(MEASURES))
    groups = {"all": wide, **{str(d): part for d, part in wide.groupby(level="dataset")}}
    return {name: {"n": len(part), "measures": _means(part), "differences": _differences(part)} for name, part in groups.items()}


def aucs(rankings: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """auc of each question and ranker: the share of (gold, other) pairs that are in the right order, ties half; missing without both kinds."""
    rows = rankings.merge(gold[[*KEY, "doc_id"]].assign(is_gold=True), on=[*KEY, "doc_id"], how="left")
    found = [(*key, pairwise_auc(part["score"].to_numpy(float), part["is_gold"].notna().to_numpy())) for key, part in rows.groupby([*KEY, "ranker"])]
    return pd.DataFrame(found, columns=[*KEY, "ranker", "auc"])


def pairwise_auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Share of (positive, negative) pairs with the higher score on the positive, ties half, [0, 1]; NaN without both kinds.

    >>> pairwise_auc(np.array([2.0, 1.0, 1.0]), np.array([True, False, True]))
    0.75
    """
    above, below = scores[positive][:, None], scores[~positive][None, :]
    return float(((above > below) + 0.5 * (above == below)).mean()) if above.size and below.size else float("nan")


def _means(wide: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    clusters = list(wide.index)
    return {m: {r: _numbers(stats.mean_interval(wide[m, r].to_numpy(float), clusters)[:3]) for r in wide[m].columns} for m in MEASURES}


def _differences(wide: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    clusters = list(wide.index)
    return {m: {f"cross_encoder - {r}": _numbers(stats.paired_cluster_bootstrap((wide[m, "cross_encoder"] - wide[m, r]).to_numpy(float), clusters)[:4])
                for r in RIVALS} for m in MEASURES}


def reading_table(pairs: pd.DataFrame, scorer: Scorer, encoder: retrieval.Encoder) -> dict[str, Any]:
    """For each kind of wrong answer under a gold text: how often the right answer scores higher there, ties half, with its interval.

    ``verbatim`` is the test whether the answer stands in the text: 1 for answers taken from elsewhere and 0.5 for those taken from the text, by
    construction; a model that only matches strings cannot beat it on ``in_passage``.
    """
    texts = sorted({*pairs["text_a"], *pairs["text_b"]})
    vectors = dict(zip(texts, retrieval.truncate(retrieval.embed(texts, encoder))))
    scored = pairs.assign(cross_encoder=scorer.score(list(zip(pairs["text_a"], pairs["text_b"]))),
                          dense=[round(float(vectors[a] @ vectors[b]), 6) for a, b in zip(pairs["text_a"], pairs["text_b"])])
    right = scored[scored["kind"] == "gold"]
    made = {}
    for kind in ("wrong_answer", "in_passage"):
        both = scored[scored["kind"] == kind].merge(right, on=[*KEY, "text_b"], suffixes=("", "_right"))
        wins = {r: (both[f"{r}_right"] > both[r]) + 0.5 * (both[f"{r}_right"] == both[r]) for r in ("cross_encoder", "dense")}
        wins["verbatim"] = pd.Series(1.0 if kind == "wrong_answer" else 0.5, both.index)
        clusters = list(zip(both["dataset"], both["qid"]))
        made[kind] = {"n": len(both), "questions": len(set(clusters))} | ({
            r: _numbers(stats.mean_interval(w.to_numpy(float), clusters)[:3]) for r, w in wins.items()} if clusters else {})
    return made


def calibration(rankings: pd.DataFrame, gold: pd.DataFrame) -> dict[str, Any]:
    """Sigmoid of the logits on own paragraphs against gold or not: base rate, mean, expected calibration error (10 equal bins) with interval.

    ``platt``: slope and intercept fitted on all of them; its error is cross-fitted, each half of the questions by the fit on the other. An error
    of binned means is never negative, so its interval leans upwards.
    """
    rows = rankings[rankings["ranker"] == "cross_encoder"].merge(gold[[*KEY, "doc_id"]].assign(is_gold=True), on=[*KEY, "doc_id"], how="left")
    logits, is_gold = rows["score"].to_numpy(float), rows["is_gold"].notna().to_numpy()
    clusters, halves = list(zip(rows["dataset"], rows["qid"])), rows["qid"].map(half).to_numpy()
    raw = 1 / (1 + np.exp(-logits))
    made = {"n": len(rows), "questions": len(set(clusters)), "base_rate": _numbers([is_gold.mean()])[0], "mean_sigmoid": _numbers([raw.mean()])[0],
            "ece_sigmoid": _numbers(ece(raw, is_gold, clusters)[:3])}
    parts = [is_gold, *(is_gold[halves == h] for h in (0, 1))]
    if any(len(set(part)) < 2 for part in parts):
        return made  # nothing to fit
    fitted = np.where(halves == 0, platt(logits[halves == 1], is_gold[halves == 1], logits)[0], platt(logits[halves == 0], is_gold[halves == 0], logits)[0])
    return made | {"platt": _numbers(platt(logits, is_gold, logits)[1]), "ece_platt": _numbers(ece(fitted, is_gold, clusters)[:3])}


def platt(logits: np.ndarray, is_gold: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """(probabilities at ``at``, (slope, intercept)) of a logistic regression of gold or not on the logit."""
    from sklearn.linear_model import LogisticRegression

    fit = LogisticRegression(C=1e6, tol=1e-10, max_iter=1000).fit(logits[:, None], is_gold)
    return fit.predict_proba(at[:, None])[:, 1], (float(fit.coef_[0, 0]), float(fit.intercept_[0]))


def ece(probabilities: np.ndarray, is_gold: np.ndarray, clusters: list, resamples: int = bootstrap.RESAMPLES, seed: int = 0) -> bootstrap.Interval:
    """Expected calibration error over 10 equal bins, the last closed, with its cluster-bootstrap interval.

    >>> ece(np.array([0.25, 0.25, 1.0]), np.array([0, 1, 1]), ["a", "b", "c"], resamples=9).estimate.__round__(6)
    0.166667
    """
    place = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    inside = np.eye(BINS)[place]
    columns = np.hstack([inside * (probabilities - is_gold)[:, None], np.ones((len(place), 1))])
    codes = bootstrap.cluster_codes(clusters, len(place))
    observed, drawn = (np.abs(t[:, :-1]).sum(axis=1) / t[:, -1] for t in bootstrap.resample_totals(columns, codes, resamples, seed))
    return bootstrap.percentile_interval(observed[0], drawn, codes, tested=False)


def counts(pairs: pd.DataFrame, learn: Mapping[str, pd.DataFrame], kept: Mapping[str, pd.DataFrame], gold: pd.DataFrame) -> dict[str, Any]:
    """Questions and pairs by data set and kind; own paragraphs called wrong that hold the answer; held-out gold that is a positive in training."""
    positives = set(pairs.loc[pairs["label"] == 1, "text_b"])
    learned = {d.doc_id for d in learn["documents"].itertuples() if retrieval.passage(d.title, d.text) in positives}
    answers = {(q.dataset, q.qid): q.answers for q in learn["questions"].itertuples()}
    own = pairs[pairs["kind"] == "own"]
    learnt, held = (t["questions"].groupby("dataset").size() for t in (learn, kept))
    return {"questions": {d: {"trained_on": int(n), "held_out": int(held.get(d, 0))} for d, n in learnt.items()},
            "questions_with_pairs": int(pairs[KEY].drop_duplicates().shape[0]),
            "pairs": {d: {k: int(n) for k, n in part.groupby("kind").size().items()} for d, part in pairs.groupby("dataset")},
            "own_that_hold_the_answer": int(sum(any(holds(a, t) for a in answers[d, q]) for d, q, t in zip(own["dataset"], own["qid"], own["text_b"]))),
            "held_out_gold": len(gold), "held_out_gold_seen_as_positive": int(gold["doc_id"].isin(learned).sum())}


def _numbers(values: Any) -> list[float | None]:
    return [None if not np.isfinite(v) else float(f"{v:.4g}") for v in values]
