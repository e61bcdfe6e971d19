"""What a tier asks of its rerankers: whole lists of one, the recorded lists of language models, second retrievals; what is left out and why (SPEC 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from lib import retrieval
from lib.encoders import Encoder
from lib.rerankers_feedback import METHODS, feedback_lists
from lib.rerankers_lists import COLUMNS, COST
from lib.rerankers_open import check_spec
from lib.rerankers_sample import SUBSETS, Task, reranked
from lib.store import Store
from lib.viability_sets import fused
from lib.weights import WeightsError
from lib.whole import check_whole


class Made(NamedTuple):
    """``reranked``: the lists made, rows as in the rankings table; ``costs`` of those that asked a model; ``left_out``: {list: reason}."""

    reranked: pd.DataFrame
    costs: pd.DataFrame
    left_out: dict[str, str]


def tasks_of(reranker: Mapping[str, Any], firsts: Sequence[str], depth: int, language_models: bool = False) -> tuple[list[Task], dict[str, Any] | None]:
    """(the tasks of one reranker over the first stages and the recorded ones of language models, its specification or None).

    ``reranker``: a specification (``rerankers_open``) with ``questions``, how many of each data set (0 or not given: all), and how many candidates it
    reads (``depth``; not given: the ``depth`` of the lists); {}: none.

    >>> tasks, spec = tasks_of({"method": "cross_encoder", "model": "reranker", "questions": 0}, ["hybrid", "dense"], 50)
    >>> [task.first for task in tasks], spec, tasks_of({}, ["hybrid"], 50)
    (['hybrid', 'dense'], {'method': 'cross_encoder', 'model': 'reranker'}, ([], None))
    """
    if not isinstance(reranker, Mapping):
        raise ValueError(f"reranker must be a block such as {{method: cross_encoder, model: reranker}}, or {{}} for none, got {reranker!r}")  # noqa: TRY004
    if not isinstance(language_models, bool):
        raise ValueError(f"language_models must be true or false, got {language_models!r}")  # noqa: TRY004
    check_whole("the reranker's questions", reranker.get("questions", 0), 0, mend=" (0: all)")
    check_whole("the reranker's depth", reranker.get("depth", depth), 1)
    spec = {k: v for k, v in reranker.items() if k not in ("questions", "depth")}
    whole = [Task(spec, reranker.get("questions", 0), min(depth, reranker.get("depth", depth)), first) for first in firsts] if spec else []
    if spec:
        check_spec(spec)
    return [*whole, *(t for t in SUBSETS if language_models and t.first in firsts)], spec or None


def asked(
    rankings: pd.DataFrame,
    questions: pd.DataFrame,
    documents: pd.DataFrame,
    tasks: Sequence[Task],
    firsts: Sequence[str],
    feedback: Mapping[str, str | Encoder] | None = None,
    scope: str = "pooled",
    depth: int = 50,
    store: Store | None = None,
    progress: bool = False,
) -> Made:
    """Every list of the tier that is made of its rankings: the free fusion of each first stage, the tasks' lists, and second retrievals.

    ``feedback``: method -> what it asks, an encoder (or its name) for rocchio, "bm25" for rm3; of scope pooled alone. What cannot be had (a score that
    is not recorded where weights are missing) is left out with its reason.
    """
    if strange := [how for how in ([feedback] if feedback and not isinstance(feedback, Mapping) else [set(feedback or {}) - set(METHODS)]) if how]:
        raise ValueError(f"feedback must be a block of {', '.join(METHODS)} and what each asks, such as {{rocchio: minilm, rm3: bm25}}, got {strange[0]!r}")
    if (feedback or {}).get("rm3", "bm25") != "bm25":
        raise ValueError(f"rm3 asks bm25 alone, got {feedback['rm3']!r}; write {{rm3: bm25}}, or leave it out")
    there = set(rankings.loc[rankings["scope"] == scope, "ranker"])
    if there and (lost := [f for f in firsts if f not in there]):
        raise ValueError(f"firsts names {lost[0]!r}, and no list of scope {scope!r} is called so; there are {', '.join(sorted(there))}")
    firsts = [f for f in firsts if f in there]
    left = {}
    rows, costs = pd.DataFrame(columns=COLUMNS), pd.DataFrame(columns=COST)
    if wanted := [t for t in tasks if t.first in firsts]:
        rows, costs, left = reranked(rankings, questions, documents, wanted, store, scope, progress=progress)
    found = []
    for method, how in (feedback or {}).items() if scope == "pooled" else ():
        try:
            encoder = retrieval.encoder(how) if isinstance(how, str) and method == "rocchio" else how
            found.append(feedback_lists(rankings, questions, documents, method, encoder, depth=depth))
        except WeightsError as error:
            left[method] = str(error).splitlines()[0]
    more = [t for t in (fused(rankings, firsts, scope, depth), rows, *found) if len(t)]
    return Made(pd.concat(more, ignore_index=True) if more else pd.DataFrame(columns=COLUMNS), costs, left)


def reasons(left_out: Mapping[str, str], tier: str) -> pd.DataFrame:
    """The table reranked_left_out: tier, ranker, reason; a row for each list that could not be made.

    >>> reasons({"hybrid + reranker": "no weights"}, "sample").values.tolist()
    [['sample', 'hybrid + reranker', 'no weights']]
    """
    return pd.DataFrame([(tier, name, why) for name, why in left_out.items()], columns=["tier", "ranker", "reason"])
