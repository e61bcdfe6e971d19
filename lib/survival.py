"""Survival: what of the answer and of the gold documents the packed context still holds (SPEC 7; document 000, section 3.1)."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from lib.text import normalise_answer, normalise_spaced

FREE_FORM = "free_form"
YES_NO = "comparison_yesno"


class Survival(NamedTuple):
    """Whether the answer survives: value 0 or 1, whether the question has a span to look for, and if not, why not."""

    value: int
    defined: bool
    reason: str  # "", "free-form", "empty" or "yes/no"


def answer_in_context(
    golds: Sequence[str], snippets: Sequence[str], question_type: str | None = None, punctuation_as_space: bool = False
) -> Survival:
    """Look for a gold answer as a contiguous run of normalised tokens inside one snippet (document 000, section 3.1; SPEC 7).

    No run crosses a snippet boundary. Undefined, with value 0 (the published convention): free-form questions, golds that all
    normalise to nothing, and yes/no answers, told by the type or by the first gold that is not empty. Yes/no among the later
    aliases (Norway's "NO") is no evidence and is passed over. Raises ValueError when golds or snippets are not lists of text.

    >>> answer_in_context(["New York"], ["He lives in New", "York is far"])
    Survival(value=0, defined=True, reason='')
    """
    normalise = normalise_spaced if punctuation_as_space else normalise_answer
    runs, reason = _answer_runs(golds, question_type, normalise)
    return _survival(runs, reason, [normalise(snippet) for snippet in _as_list(snippets, "snippets")])


def answers_in_contexts(
    golds: Iterable[Sequence[str]],
    contexts: Iterable[Sequence[str]],
    question_types: Iterable[str | None] | None = None,
    punctuation_as_space: bool = False,
) -> pd.DataFrame:
    """Do `answer_in_context` for many contexts, each snippet normalised once: some 100,000 contexts in seconds.

    One row per context, in order: answer_in_context (0 or 1), answer_defined, undefined_reason. Raises ValueError for unequal
    lengths.

    >>> answers_in_contexts([["Rome"]], [["Jerome lived", "in Rome."]])["answer_in_context"].tolist()
    [1]
    """
    golds, contexts = list(golds), list(contexts)
    types = [None] * len(golds) if question_types is None else list(question_types)
    if not len(golds) == len(contexts) == len(types):
        raise ValueError(
            f"got {len(golds)} gold lists, {len(contexts)} contexts, {len(types)} question types: a row needs one each"
        )
    # Packers choose from the same candidates, so a snippet comes back in many contexts.
    normalise = lru_cache(maxsize=200_000)(normalise_spaced if punctuation_as_space else normalise_answer)
    rows = []
    for answer, snippets, question_type in zip(golds, contexts, types, strict=True):
        runs, reason = _answer_runs(answer, question_type, normalise)
        rows.append(_survival(runs, reason, [normalise(snippet) for snippet in _as_list(snippets, "snippets")]))
    table = pd.DataFrame(rows, columns=["answer_in_context", "answer_defined", "undefined_reason"])
    return table.astype({"answer_in_context": "int64", "answer_defined": "bool", "undefined_reason": "str"})


def _answer_runs(golds: Sequence[str], question_type: str | None, normalise: Callable[[str], str]) -> tuple[list[str], str]:
    """The normalised golds worth looking for, or none and the reason."""
    # Whether the question has a span at all must not depend on the variant, so this looks at the official form.
    kept = [gold for gold in _as_list(golds, "golds") if normalise_answer(gold)]
    if question_type == FREE_FORM:
        return [], "free-form"
    if not kept:
        return [], "empty"
    if question_type == YES_NO or _is_yes_no(kept[0]):
        return [], "yes/no"
    return [normalise(gold) for gold in kept if not _is_yes_no(gold)], ""


def _is_yes_no(gold: str) -> bool:
    return normalise_answer(gold) in ("yes", "no")


def _survival(runs: list[str], reason: str, normalised_snippets: list[str]) -> Survival:
    # Tokens hold no space, so a run of tokens is a substring once both sides are fenced by spaces: "rome" is not in " jerome ".
    found = any(f" {run} " in f" {snippet} " for snippet in normalised_snippets for run in runs if run)
    return Survival(int(found), not reason, reason)


def _as_list(texts: Sequence[str], what: str) -> list[str]:
    if texts is None or isinstance(texts, str):
        raise ValueError(f"{what} must be a list of texts, got {texts!r}: wrap one text as [text]")
    return list(texts)


def gold_coverage(gold_ids: Collection[str], packed_ids: Iterable[str]) -> float:
    """Fraction of gold documents with at least one packed snippet, in [0, 1]; NaN without gold (document 000, section 3.1).

    `packed_ids` names the document of each packed snippet, repeats allowed.

    >>> gold_coverage({"D1", "D2"}, ["D1", "D1", "D3"])
    0.5
    """
    gold = set(_as_list(gold_ids, "gold_ids"))
    return len(gold & set(packed_ids)) / len(gold) if gold else float("nan")


def all_gold_in_context(gold_ids: Collection[str], packed_ids: Iterable[str]) -> float:
    """1.0 when every gold document has a packed snippet, else 0.0; NaN without gold (document 000, section 3.1).

    >>> all_gold_in_context({"D1", "D2"}, ["D1", "D1", "D3"])
    0.0
    """
    coverage = gold_coverage(gold_ids, packed_ids)
    return coverage if math.isnan(coverage) else float(coverage == 1.0)


def gold_density(gold_ids: Collection[str], packed_ids: Sequence[str], n_tokens: Sequence[int]) -> float:
    """Fraction of the packed tokens that come from gold documents, in [0, 1]; NaN without gold, 0 for an empty context.

    `packed_ids` and `n_tokens` run over the packed snippets. Raises ValueError for unequal lengths or a negative count
    (document 000, section 3.1).

    >>> gold_density({"D1", "D2"}, ["D1", "D1", "D3"], [30, 20, 50])
    0.5
    """
    gold = set(_as_list(gold_ids, "gold_ids"))
    packed = list(zip(packed_ids, n_tokens, strict=True))
    if any(tokens < 0 for _, tokens in packed):
        raise ValueError(f"token counts must not be negative, got {list(n_tokens)}")
    if not gold:
        return float("nan")
    total = sum(tokens for _, tokens in packed)
    return float(sum(tokens for doc_id, tokens in packed if doc_id in gold) / total) if total else 0.0
