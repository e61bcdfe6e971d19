"""How strongly a packed context supports the accepted answer, judged without a span: the table support (SPEC 7; document 000, limitations).

What the scorers are is in ``lib.scorers``. A context without a snippet supports nothing: its score is missing. A bare yes or no has no meaning
apart from its question: only a reader judges it.
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lib import evidence, likelihood, readers, reading, retrieval, scores, survival
from lib.cross_encoder import CrossEncoderError
from lib.reader_spec import read_template
from lib.recorded import canonical
from lib.scorers import every_form, kind, reader_of, scorer_name
from lib.store import Store

KEY = ["dataset", "qid", "context_hash"]
VECTORS = retrieval.ROOT / "data" / "cache" / "vectors"
Encode = Callable[[str], retrieval.Encoder]


def judged(asked: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """Each distinct context of ``asked`` (rows of ``reading.to_read`` or ``ablations.to_read``) once, closed book left out.

    Columns: dataset, qid, context_hash, question, answers, context, prompt, closed (the closed-book prompt), snippets, is_yes_no.
    """
    rows = asked[asked["context_hash"] != "closed_book"].drop_duplicates(KEY)[[*KEY, "question", "answers", "context", "prompt"]]
    rows = rows.merge(questions[["dataset", "qid", "question_type"]], on=["dataset", "qid"], validate="many_to_one")
    reason = survival.answers_in_contexts(rows["answers"], [[] for _ in range(len(rows))], rows["question_type"])["undefined_reason"]
    return rows.drop(columns="question_type").assign(
        closed=[readers.build_prompt("", q, "closed_book") for q in rows["question"]], is_yes_no=(reason == "yes/no").to_numpy(bool),
        snippets=[c.split(evidence.SEPARATOR) if c else [] for c in rows["context"]])


def score_all(rows: pd.DataFrame, specs: Sequence[Mapping[str, Any]], store: Store, known: pd.DataFrame | None = None,
              encode: Encode = retrieval.SentenceEncoder, cache: Path | None = VECTORS) -> pd.DataFrame:
    """The support table: every row of ``rows`` (``judged``) past every scorer in every form (``scorers.every_form``).

    ``known`` (``scores.committed_support()``): a score that is there is not computed. A cross-encoder that is not trained here is left out with a
    line that says so. Raises ValueError for a scorer that is none, and what the
    models' own loaders raise.
    """
    parts = []
    for spec in every_form(specs):
        score = scores.support_for(rows["dataset"], rows["qid"], keys(rows, spec), known if known is not None else scores.no_support())
        open_ = rows["snippets"].map(len).gt(0).to_numpy() & np.isnan(score) & ~(rows["is_yes_no"].to_numpy() & (kind(spec) != "reader"))
        try:
            score[open_] = _score(rows[open_], spec, store, encode, cache) if open_.any() else []
        except CrossEncoderError as error:  # its training takes files that few have: the other scorers still stand
            print(f"{scorer_name(spec)} is left out: {error}")
            continue
        parts.append(rows[KEY].assign(scorer=scorer_name(spec), score=score))
    return pd.concat(parts, ignore_index=True) if parts else rows[KEY].iloc[:0].assign(scorer="", score=np.nan)


def _score(rows: pd.DataFrame, spec: Mapping[str, Any], store: Store, encode: Encode, cache: Path | None) -> np.ndarray:
    which = kind(spec)
    if which == "reader":
        return weighed(rows, reader_of(spec), store, spec.get("form", "lift"))
    if which == "encoder":
        return similarity(rows, encode(spec["encoder"]), spec.get("text", "answer"), cache)
    return entailment(rows, {"model": spec["cross_encoder"]}, store)


def weighed(rows: pd.DataFrame, spec: Mapping[str, Any], store: Store, form: str = "lift", reader: Any = None) -> np.ndarray:
    """Log-probability of the accepted answers in one of the forms of ``lib.scorers``. Shape (n,)."""
    asked = [(row.prompt, row.closed, answer) for row in rows.itertuples() for answer in row.answers]
    both = likelihood.likelihoods([*((p, a) for p, _, a in asked), *((c, a) for _, c, a in asked if form == "lift")], spec, store, reader=reader)
    found, without = both[:len(asked)], both[len(asked):] or [likelihood.Likelihood(0.0, 1)] * len(asked)
    if form == "any":
        return _each([a.log_p for a in found], rows["answers"].map(len), np.logaddexp)
    return _each([a.log_p / a.n_tokens - b.log_p / b.n_tokens for a, b in zip(found, without)], rows["answers"].map(len))


def likelihood_pairs(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Every (prompt, answer) that ``weighed`` asks a reader for, each once."""
    shown = rows[rows["snippets"].map(len) > 0]
    return sorted({(prompt, answer) for row in shown.itertuples() for prompt in (row.prompt, row.closed) for answer in row.answers})


def similarity(rows: pd.DataFrame, encoder: retrieval.Encoder, text: str = "answer", cache: Path | None = VECTORS) -> np.ndarray:
    """Cosine of the canonical answer and a snippet, the largest over the context's snippets, in [-1, 1]. Shape (n,)."""
    told = [row.answers[0] if text == "answer" else f"{row.question} {row.answers[0]}" for row in rows.itertuples()]
    texts = sorted({*told, *(s for snippets in rows["snippets"] for s in snippets)})
    place = {t: i for i, t in enumerate(texts)}
    vectors = retrieval.embed(texts, encoder, cache).astype(float)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return np.array([float((vectors[[place[s] for s in snippets]] @ vectors[place[t]]).max()) for t, snippets in zip(told, rows["snippets"])]).round(6)


def entailment(rows: pd.DataFrame, spec: Mapping[str, Any], store: Store, scorer: Any = None) -> np.ndarray:
    """Logit of the trained cross-encoder for question, canonical answer and a snippet, the largest over the context's snippets. Shape (n,)."""
    from lib import cross_encoder

    return _each(cross_encoder.score_pairs(_pairs(rows), spec, store, scorer=scorer), rows["snippets"].map(len))


def entailment_pairs(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Every (question with answer, snippet) that ``entailment`` scores, each once."""
    return sorted(set(_pairs(rows[~rows["is_yes_no"]])))


def _pairs(rows: pd.DataFrame) -> list[tuple[str, str]]:
    from lib.training_pairs import support_query

    return [(support_query(row.question, row.answers[0]), snippet) for row in rows.itertuples() for snippet in row.snippets]


def _each(values: Sequence[float], lengths: Sequence[int], of: np.ufunc = np.fmax) -> np.ndarray:
    """``of`` over each run of ``lengths`` values; the largest passes over NaN, which is a pair without a text."""
    ends = np.cumsum(list(lengths))
    return np.array([of.reduce(values[end - n:end]) for n, end in zip(lengths, ends)], float)


def check_live(rows: pd.DataFrame, specs: Sequence[Mapping[str, Any]], store: Store, n: int = 10) -> None:
    """Compute ``n`` stored log-probabilities of the last reader among the scorers again; RuntimeError where they have changed. Nothing without a reader."""
    named = [reader_of(s) for s in specs if kind(s) == "reader"]
    if named and n:
        reading.check_likelihoods(likelihood_pairs(rows), named[-1], store, n=n)


def keys(rows: pd.DataFrame, spec: Mapping[str, Any]) -> list[str]:
    """A hash a row of all that decides its score: the scorer, the question, its accepted answers and the context."""
    told = _identity(spec)
    return [hashlib.sha256(canonical([told, row.question, list(row.answers), row.context_hash]).encode()).hexdigest() for row in rows.itertuples()]


def _identity(spec: Mapping[str, Any]) -> list[Any]:
    which = kind(spec)
    if which == "reader":
        return [likelihood.likelihood_group(reader_of(spec)), spec.get("form", "lift"), read_template("two_shot"), read_template("closed_book")]
    if which == "encoder":
        from lib.weights import REGISTRY, identity

        return [which, identity(spec["encoder"]) if spec["encoder"] in REGISTRY else spec["encoder"], spec.get("text", "answer")]
    from lib import cross_encoder

    return [cross_encoder.cross_encoder_group({"model": spec["cross_encoder"]})]
