"""The reranker of a specification, a block such as {method: yes_no, model: qwen2.5-coder-0.5b, precision: bf16} (SPEC 11).

method           options beside ``model``
cross_encoder    none: a model trained here, by the name of its card
hub              revision, max_length, device: any cross-encoder that sentence-transformers loads, by hub id or folder
yes_no           the fields of a reader (precision, device, threads, ...)
pairwise         the same; sort (insertion or bubble), top
listwise         the same; window, stride
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lib.reader_spec import DEFAULTS, full_spec
from lib.rerankers import Reranker, check_window
from lib.rerankers_cross import cross_encoder, hub_cross_encoder
from lib.rerankers_judge import Judge
from lib.rerankers_model import Listwise, Pairwise, check_sort, yes_no
from lib.store import Store

READER = set(DEFAULTS) - {"max_new_tokens"}
OPTIONS: dict[str, set[str]] = {"cross_encoder": set(), "hub": {"revision", "max_length", "device", "batch_size"}, "yes_no": READER,
                                "pairwise": READER | {"sort", "top"}, "listwise": READER | {"window", "stride"}}


def check_spec(spec: Mapping[str, Any]) -> str:
    """The method of a specification; raises ValueError for what is none, an unknown option or a wrong value.

    >>> check_spec({"method": "yes_no", "model": "smollm2-135m"})
    'yes_no'
    """
    method = spec.get("method") if isinstance(spec, Mapping) else None
    if not isinstance(method, str) or method not in OPTIONS or not isinstance(spec.get("model"), str) or not spec["model"]:
        raise ValueError(f"a reranker is a block such as {{method: cross_encoder, model: reranker}}, method one of {', '.join(OPTIONS)}; got {spec!r}")
    if unknown := set(spec) - OPTIONS[method] - {"method", "model", "name"}:
        raise ValueError(f"reranker {method} has no option {sorted(unknown)}; there are {sorted(OPTIONS[method] | {'model', 'name'})}")
    if not isinstance(spec.get("name", ""), str):
        raise ValueError(f"reranker {method}: name must be a text, got {spec['name']!r}")  # noqa: TRY004  (a wrong value, like the others)
    if method in ("yes_no", "pairwise", "listwise"):
        full_spec(reader_of(spec))
    if method == "listwise":
        check_window(spec.get("window", 10), spec.get("stride", 5))
    if method == "pairwise":
        check_sort(spec.get("sort", "insertion"), spec.get("top", 5))
    return method


def reader_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The reader specification inside a language model reranker's."""
    return {k: v for k, v in spec.items() if k in READER}


def open_reranker(spec: Mapping[str, Any], store: Store | None = None, judge: Judge | None = None, progress: bool = False) -> Reranker:
    """The reranker that ``spec`` asks for; no model is loaded before a score is not in the store.

    ``judge`` is an open judge to share between rerankers of one model. Raises ValueError for a wrong specification and CrossEncoderError for a
    cross-encoder without a card; WeightsError, WeightsMissing or ReaderError come when a model is needed and cannot be had.
    """
    method, kept = check_spec(spec), store or Store()
    more = {k: v for k, v in spec.items() if k in OPTIONS[method] - READER | {"name"}}
    if method == "cross_encoder":
        return _named(cross_encoder(spec["model"], kept, progress=progress), spec)
    if method == "hub":
        return _named(hub_cross_encoder(spec["model"], kept, **{k: v for k, v in spec.items() if k in OPTIONS["hub"]}), spec)
    asked = judge or Judge(reader_of(spec), kept, progress=progress)
    return {"yes_no": yes_no, "pairwise": Pairwise, "listwise": Listwise}[method](asked, **more)


def _named(reranker: Any, spec: Mapping[str, Any]) -> Any:
    reranker.name = spec.get("name") or reranker.name
    return reranker
