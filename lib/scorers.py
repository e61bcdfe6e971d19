"""What can judge, without a span, how strongly a context supports an answer: three kinds of scorer, their options and their names (SPEC 7).

Each has a scale of its own, higher is more support:
``reader``          log-probability of the accepted answers after the prompt (natural logs). ``form: lift``: with the context minus closed book, a token of the
                    answer, the largest over the accepted answers; ``form: context``: the same without the subtraction; ``form: any``: of the answers
                    together, log of the sum of their probabilities with the context, not a token (one that begins another counts twice).
``encoder``         cosine of the canonical answer's vector and a snippet's, the largest over the context's snippets; ``text: question_answer`` puts the
                    question before the answer.
``cross_encoder``   logit of a cross-encoder trained to tell passages that support (question, canonical answer) from those that do not; the largest
                    over the context's snippets.
Forms of one scorer are a family: the one to use is chosen on half 0, and all that were tried stay in the tables. ``any`` is shown and never chosen: its
scale grows with the answer's length, so no threshold from short answers can hold for a sentence.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lib.reader_spec import full_spec

FORMS = {"lift": "lift", "context": "with the context", "any": "any answer", "answer": "answer alone", "question_answer": "with the question"}
LENGTH_BOUND = ("any answer",)
KINDS = {"reader": {"form": ("lift", "context", "any")}, "encoder": {"text": ("answer", "question_answer")}, "cross_encoder": {}}


def kind(spec: Mapping[str, Any]) -> str:
    """``reader``, ``encoder`` or ``cross_encoder``; raises ValueError for what is no scorer."""
    named = [k for k in KINDS if isinstance(spec, Mapping) and k in spec]
    if len(named) != 1 or not isinstance(spec[named[0]], str):
        raise ValueError(f"a scorer (parameter 'scorers') names one of {', '.join(KINDS)}, such as {{'encoder': 'minilm'}}; got {spec!r}")
    for option, allowed in KINDS[named[0]].items():
        if spec.get(option, allowed[0]) not in allowed:
            raise ValueError(f"{option} of scorer {spec[named[0]]!r} must be one of {', '.join(allowed)}, got {spec[option]!r}")
    if named[0] != "reader" and (unknown := set(spec) - {named[0], *KINDS[named[0]]}):
        raise ValueError(f"scorer {spec[named[0]]!r} has no option {sorted(unknown)}; there are {sorted(KINDS[named[0]])}")
    return named[0]


def reader_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The reader specification inside a scorer of kind ``reader``."""
    return {"model": spec["reader"], **{k: v for k, v in spec.items() if k not in ("reader", "form")}}


def scorer_name(spec: Mapping[str, Any]) -> str:
    """How tables and figures call a scorer: its family, and after a comma its form.

    >>> scorer_name({"encoder": "minilm"}), scorer_name({"reader": "smollm2-135m", "form": "any"})
    ('minilm similarity, answer alone', 'smollm2-135m fp32 log-probability, any answer')
    """
    which, name = kind(spec), spec[kind(spec)].rstrip("/").split("/")[-1]
    if which == "reader":
        return f"{name} {full_spec(reader_of(spec))['precision']} log-probability, {FORMS[spec.get('form', 'lift')]}"
    return f"{name} similarity, {FORMS[spec.get('text', 'answer')]}" if which == "encoder" else f"cross-encoder {name}"


def family(name: str) -> str:
    """The scorer without its form.

    >>> family("minilm similarity, answer alone")
    'minilm similarity'
    """
    return name.split(", ")[0]


def every_form(specs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The scorers with their forms: one that states no form stands for all forms of its kind.

    Raises ValueError for a specification that is none, or that stands twice.

    >>> [s["text"] for s in every_form([{"encoder": "minilm"}])]
    ['answer', 'question_answer']
    """
    if not isinstance(specs, (list, tuple)):
        raise ValueError(f"scorers must be a list, got {specs!r}")  # noqa: TRY004  (a wrong value in params.yaml, like the others)
    out: list[dict[str, Any]] = []
    for spec in specs:
        options = KINDS[kind(spec)]
        out += [dict(spec)] if not options or set(options) & set(spec) else [{**spec, option: form} for option, forms in options.items() for form in forms]
    names = [scorer_name(spec) for spec in out]
    if len(set(names)) < len(names):
        raise ValueError(f"scorers names one twice: {names}")
    return out
