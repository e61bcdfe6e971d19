"""Answer scoring: one function per data set's official rule, exact match and token F1 (SPEC 6)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pandas as pd

from lib.text import normalise_answer

RULES = ("hotpotqa", "2wiki", "musique", "squad1", "squad2", "ondrell")
_CLOSED_ANSWERS = frozenset({"yes", "no", "noanswer"})
_CLOSED_RULES = frozenset({"hotpotqa", "2wiki", "ondrell"})  # a mismatch on a closed answer earns nothing
_EMPTY_AGREES = frozenset({"musique", "squad2"})  # both sides empty: F1 1, elsewhere 0
_NAMES = {  # how the names of a rule's data sets begin; "squad" comes after "squad2"
    "hotpotqa": ("hotpotqa",),
    "2wiki": ("2wiki",),
    "musique": ("musique",),
    "squad2": ("squad2", "squad_v2"),
    "squad1": ("squad", "ragbench", "covidqa", "expertqa"),
    "ondrell": ("ondrell", "policy", "world", "own"),
}


class Scores(NamedTuple):
    """Exact match, F1, precision and recall, each in [0, 1]."""

    em: float
    f1: float
    precision: float
    recall: float


def rule_for(dataset: str) -> str:
    """Name the scoring rule of a data set by the beginning of its name; raises ValueError for a set without one.

    >>> rule_for("2wiki_dev")
    '2wiki'
    """
    for rule, beginnings in _NAMES.items():
        if dataset.startswith(beginnings):
            return rule
    raise ValueError(f"no scoring rule for data set {dataset!r}: names begin like {_NAMES}; or give a rule of {RULES}")


def score_answer(prediction: str | None, golds: Sequence[str], rule: str) -> tuple[float, float]:
    """Score one prediction against its golds by an official rule: (EM, F1) in [0, 1], each the maximum over golds (SPEC 6).

    A missing prediction (None) scores (0, 0); under "squad2" it is left out, (NaN, NaN); under "musique" it is an error.
    HotpotQA's script knows one gold: several are an error there ("ondrell" is its rule with aliases). Raises ValueError for an
    unknown rule, no gold, or an answer that is not text.

    >>> score_answer("Barack Obama", ["Obama"], "hotpotqa")
    (0.0, 0.6666666666666666)
    """
    golds = _usable_golds(golds, rule)
    if _is_missing(prediction):
        return _score_missing(rule)
    scores = [_score_pair(prediction, gold, rule) for gold in golds]
    return max(score.em for score in scores), max(score.f1 for score in scores)


def _usable_golds(golds: Sequence[str], rule: str) -> list[str]:
    if rule not in RULES:
        raise ValueError(f"unknown scoring rule {rule!r}: expected one of {RULES}")
    if golds is None or isinstance(golds, str):
        raise ValueError(f"golds must be a list of answers, got {golds!r}: wrap one answer as [answer]")
    golds = list(golds)
    if rule == "squad2":  # its script drops golds that normalise to nothing; a question left without any is unanswerable
        return [gold for gold in golds if normalise_answer(gold)] or [""]
    if not golds:
        raise ValueError(f"rule {rule!r} needs at least one gold answer, got none")
    if rule == "hotpotqa" and len(golds) > 1:
        raise ValueError(f"rule 'hotpotqa' knows one gold, got {len(golds)}: {golds!r}; 'ondrell' is its maximum over aliases")
    return golds


def _is_missing(prediction) -> bool:
    return pd.api.types.is_scalar(prediction) and pd.isna(prediction)  # pandas stores None as NaN in a text column


def _score_missing(rule: str) -> tuple[float, float]:
    if rule == "musique":
        raise ValueError("rule 'musique' needs a prediction for every question, got None: its script refuses short files")
    return (float("nan"), float("nan")) if rule == "squad2" else (0.0, 0.0)


def _score_pair(prediction: str, gold: str, rule: str) -> Scores:
    predicted, wanted = normalise_answer(prediction), normalise_answer(gold)
    em = float(predicted == wanted)
    if rule in _CLOSED_RULES and not em and not _CLOSED_ANSWERS.isdisjoint((predicted, wanted)):
        return Scores(0.0, 0.0, 0.0, 0.0)
    if rule in _EMPTY_AGREES and em and not wanted:
        return Scores(1.0, 1.0, 1.0, 1.0)
    predicted_tokens, wanted_tokens = predicted.split(), wanted.split()
    shared = (Counter(predicted_tokens) & Counter(wanted_tokens)).total()
    return Scores(em, *_precision_recall_f1(shared, len(predicted_tokens), len(wanted_tokens)))


def _precision_recall_f1(shared: float, n_predicted: int, n_wanted: int) -> tuple[float, float, float]:
    precision = shared / n_predicted if n_predicted else 0.0
    recall = shared / n_wanted if n_wanted else 0.0
    return _harmonic_mean(precision, recall), precision, recall


def _harmonic_mean(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def score_2wiki_official(prediction: str | None, golds: Sequence[str]) -> Scores:
    """Score as 2Wiki's own script does: EM, F1, precision and recall maximised apart over gold, aliases and demonyms (SPEC 6).

    The four numbers may come from four different golds, so F1 need not be the harmonic mean of the other two.

    >>> score_2wiki_official("Ada King", ["Ada", "Ada King of York City"])[2:]
    (1.0, 1.0)
    """
    golds = _usable_golds(golds, "2wiki")
    if _is_missing(prediction):
        return Scores(0.0, 0.0, 0.0, 0.0)
    return Scores(*map(max, zip(*(_score_pair(prediction, gold, "2wiki") for gold in golds), strict=True)))


def score_supporting_facts(predicted: Iterable[tuple], gold: Iterable[tuple], rule: str = "hotpotqa") -> Scores:
    """Score supporting facts, (title, sentence) pairs or paragraph numbers, as sets (METRIC_CASES, "Answer scoring").

    2Wiki's script lower-cases titles. Where both sides are empty, MuSiQue's gives F1 1, the others EM 1 and F1 0.

    >>> score_supporting_facts([("A", 0), ("A", 1)], [("A", 0), ("B", 2)])
    Scores(em=0.0, f1=0.5, precision=0.5, recall=0.5)
    """
    if rule not in ("hotpotqa", "2wiki", "musique"):
        raise ValueError(f"no supporting-fact rule {rule!r}: expected 'hotpotqa', '2wiki' or 'musique'")
    # Lists, as in 2Wiki's script: two titles that differ by case alone stay two facts.
    found, wanted = [_fact(fact, rule) for fact in _distinct(predicted)], [_fact(fact, rule) for fact in _distinct(gold)]
    hits, missed = sum(fact in wanted for fact in found), sum(fact not in found for fact in wanted)
    f1, precision, recall = _precision_recall_f1(hits, len(found), hits + missed)
    if rule == "musique" and not found and not wanted:
        f1 = 1.0
    return Scores(float(hits == len(found) and not missed), f1, precision, recall)


def _distinct(facts: Iterable) -> set:
    return {tuple(fact) if isinstance(fact, list) else fact for fact in facts}


def _fact(fact, rule: str):
    return (fact[0].lower(), *fact[1:]) if rule == "2wiki" else fact


def score_jointly(*parts: Scores) -> Scores:
    """Join answer and supporting-fact scores (and 2Wiki's evidence): EM, precision, recall multiply, F1 follows from them.

    >>> score_jointly(Scores(0, 2 / 3, 0.5, 1.0), Scores(0, 0.5, 0.5, 0.5)).precision
    0.25
    """
    if len(parts) < 2:
        raise ValueError(f"a joint score needs at least two parts, got {len(parts)}")
    em = precision = recall = 1.0
    for part in parts:
        em, precision, recall = em * part.em, precision * part.precision, recall * part.recall
    return Scores(em, _harmonic_mean(precision, recall), precision, recall)


def scoring_report(answers: pd.DataFrame) -> pd.DataFrame:
    """Count the questions whose score changes under another set's script (SPEC 6), one row per (dataset, other_rule).

    `answers` has columns dataset, prediction, answers (list). Rows without a prediction are counted, not compared. HotpotQA's
    script is given the first gold only, as it knows one. Means are in [0, 1]. Raises ValueError when a column is missing.
    """
    missing = {"dataset", "prediction", "answers"} - set(answers.columns)
    if missing:
        raise ValueError(f"scoring report: columns {sorted(missing)} are missing, found {list(answers.columns)}")
    rows = []
    for dataset, group in answers.groupby("dataset", sort=True):
        own, answered = rule_for(str(dataset)), group[group["prediction"].notna()]
        counts = {"dataset": dataset, "n": len(answered), "n_missing": len(group) - len(answered)}
        rows += [counts | _compare_rules(answered, own, other) for other in RULES if other != own]
    return pd.DataFrame(rows)


def _compare_rules(answered: pd.DataFrame, own: str, other: str) -> dict:
    pairs = list(zip(answered["prediction"], answered["answers"], strict=True))
    ours = pd.DataFrame([score_answer(text, _golds_of(golds, own), own) for text, golds in pairs], columns=["em", "f1"])
    theirs = pd.DataFrame([score_answer(text, _golds_of(golds, other), other) for text, golds in pairs], columns=["em", "f1"])
    changed = (ours - theirs).abs() > 1e-12
    return {
        "rule": own,
        "other_rule": other,
        "n_em_changed": int(changed["em"].sum()),
        "n_f1_changed": int(changed["f1"].sum()),
        "mean_em": ours["em"].mean(),
        "mean_em_other": theirs["em"].mean(),
        "mean_f1": ours["f1"].mean(),
        "mean_f1_other": theirs["f1"].mean(),
    }


def _golds_of(golds: Sequence[str], rule: str) -> list[str]:
    return list(golds)[:1] if rule == "hotpotqa" else list(golds)
