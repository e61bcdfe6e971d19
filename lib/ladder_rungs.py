"""The rungs of the reader ladder: names and nominal sizes, which answers are at hand, and how to come by the rest (SPEC 9, "Ladder per rung").

A rung is a reader's specification (``lib.reader_spec``): a model in a number format. Every rung reads the same prompts.
"""
from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence

import pandas as pd

from lib import claims, readers, reading, scores, weights
from lib.recorded import entry_key
from lib.store import Store

LOG = logging.getLogger("lib.ladder")
FINENESS = ("fp32", "fp16", "bf16", "served", "nf4")  # number formats, the finest first
FOUR_BIT = "nf4"
SIZE = re.compile(r"(\d+(?:\.\d+)?)([mb])(?![a-z])")


class LadderError(RuntimeError):
    """Answers of a rung are neither at hand nor to be had; the message names the command that mends it."""


def check_rungs(rungs: object) -> None:
    """Raise ValueError unless ``rungs`` is a list of one or more different readers.

    >>> check_rungs([{"model": "smollm2-135m"}])
    """
    if isinstance(rungs, str) or not isinstance(rungs, Sequence) or not rungs or not all(isinstance(r, Mapping) for r in rungs):
        raise ValueError(f"rungs must be a list of one or more blocks such as {{model: smollm2-135m, precision: fp32}}, got {rungs!r}; mend it in params.yaml")
    names = [rung_name(r) for r in rungs]
    if twice := sorted({n for n in names if names.count(n) > 1}):
        raise ValueError(f"rungs names {', '.join(twice)} twice; keep one of each in params.yaml")


def rung_name(spec: Mapping) -> str:
    """A rung as tables and figures call it.

    >>> rung_name({"model": "Qwen/Qwen2.5-7B-Instruct", "precision": "nf4"})
    'Qwen2.5-7B-Instruct nf4'
    """
    full = readers.full_spec(spec)
    return f"{reading.short_name(full['model'])} {full['precision']}"


def billions(model: str) -> float:
    """Nominal parameters in thousand millions, as the model's name tells them; NaN where it tells none.

    >>> billions("smollm2-135m"), billions("qwen2.5-coder-0.5b"), billions("Qwen2.5-14B-Instruct")
    (0.135, 0.5, 14.0)
    """
    found = SIZE.search(reading.short_name(model).lower())
    return float(found[1]) / (1000 if found[2] == "m" else 1) if found else float("nan")


def family(model: str) -> str:
    """The letters a model's name begins with: models of one family are one recipe at several sizes, more or less.

    >>> family("smollm2-135m"), family("Qwen/Qwen2.5-3B-Instruct")
    ('smollm', 'qwen')
    """
    return re.match(r"[a-z]*", reading.short_name(model).lower())[0]


def weights_of(model: str, precision: str) -> str:
    """What the weights had been through before they were read: a registered GGUF was 4-bit already, whatever it is computed in (MODELS).

    >>> weights_of("qwen2.5-coder-0.5b", "nf4"), weights_of("Qwen2.5-7B-Instruct", "nf4")
    ('NF4 on weights that were already Q4', 'NF4 of the released weights')
    """
    before = model in weights.REGISTRY and weights.REGISTRY[model].kind == "gguf"
    if precision == FOUR_BIT:
        return "NF4 on weights that were already Q4" if before else "NF4 of the released weights"
    return "already Q4, then computed finer" if before else "as released"


def ordered(names: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Rungs as (reader, precision) from the smallest model to the largest, the finest number format first.

    >>> ordered([("a-1b", "nf4"), ("a-1b", "fp32"), ("b-135m", "fp32")])
    [('b-135m', 'fp32'), ('a-1b', 'fp32'), ('a-1b', 'nf4')]
    """
    size = {r: billions(r) for r, _ in names}
    return sorted(set(names), key=lambda n: (size[n[0]] if size[n[0]] == size[n[0]] else float("inf"), n[0], _fineness(n[1])))


def sorted_rungs(table: pd.DataFrame) -> pd.DataFrame:
    """``table`` with its rungs (reader, precision) in the order of ``ordered``, rows of one rung as they were; what is no rung comes last."""
    place = {n: i for i, n in enumerate(ordered([*map(tuple, table[["reader", "precision"]].drop_duplicates().to_numpy())]))}
    at = [place[n] for n in zip(table["reader"], table["precision"])]
    return table.assign(_place=at).sort_values("_place", kind="stable").drop(columns="_place").reset_index(drop=True)


def _fineness(precision: str) -> int:
    return FINENESS.index(precision) if precision in FINENESS else len(FINENESS)


def climb(names: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """One rung a model, from small to large, in number formats as alike as can be: that of the largest model where a model was read in it, else its finest.

    This keeps scale apart from quantisation as far as the rungs allow; models whose name tells no size are left out.

    >>> climb([("a-1b", "bf16"), ("a-0.5b", "fp32"), ("a-0.5b", "bf16"), ("a-0.5b", "nf4"), ("b-135m", "fp32")])
    [('b-135m', 'fp32'), ('a-0.5b', 'bf16'), ('a-1b', 'bf16')]
    """
    sized = [n for n in ordered(names) if billions(n[0]) == billions(n[0])]
    of = {reader: [p for r, p in sized if r == reader] for reader, _ in sized}
    if not of:
        return []
    wanted = of[sized[-1][0]][0]
    return [(reader, wanted if wanted in formats else formats[0]) for reader, formats in of.items()]


def asked(questions: pd.DataFrame, contexts: pd.DataFrame, policies: Sequence[str], budget: int, per_set: int = 0,
          datasets: Sequence[str] = ()) -> pd.DataFrame:
    """The rows that every rung reads (`reading.to_read`), of ``datasets`` (none: all): the first ``per_set`` questions of each, by hashed id (0: all).

    Read from the plan's published arm where that was packed. Raises ValueError for a data set that is not there.
    """
    if not isinstance(policies, (list, tuple)) or not policies:
        raise ValueError(f"policies must be a list of one packer or more, got {policies!r}; mend it in params.yaml")
    if isinstance(datasets, str):
        raise ValueError(f"datasets must be a list of names ([]: all), got {datasets!r}; mend it in params.yaml")
    if lost := sorted(set(datasets) - set(questions["dataset"])):
        raise ValueError(f"datasets names {', '.join(lost)}; this run has {', '.join(sorted(set(questions['dataset'])))}; mend it in params.yaml")
    kept = questions[questions["dataset"].isin(datasets)] if len(datasets) else questions
    fixed = claims.plan()
    planned = [p for p in sorted(set(contexts["pack_id"])) if claims.planned(p, fixed)]
    return reading.to_read(kept, contexts, policies, budget, per_set, planned[0] if planned else None)


def at_hand(asked: pd.DataFrame, rungs: Sequence[Mapping], store: Store, known: pd.DataFrame | None = None) -> pd.DataFrame:
    """How many prompts of ``asked`` (``reading.to_read``) each rung has answered already; runs no model.

    Columns: reader, precision, prompts, answered (in the store, or with a committed score), questions (how many of each data set, in the order of
    ``reading.of_hash``, are answered without a gap: the least over data sets), asked (questions a data set, the most), fetched (whether weights lie here).
    """
    rows = []
    for spec in rungs:
        full, done = readers.full_spec(spec), answered(asked, spec, store, known)
        prompts = asked.assign(done=done.astype(bool)).drop_duplicates(["dataset", "qid", "context_hash"])
        whole = prompts.groupby(["dataset", "qid"])["done"].all().reset_index()
        whole = whole.assign(order=whole["qid"].map(reading.of_hash)).sort_values(["dataset", "order"])
        unbroken = whole.groupby("dataset")["done"].apply(lambda d: int(d.cumprod().sum()))
        rows.append((*rung_name(spec).rsplit(" ", 1), len(prompts), int(prompts["done"].sum()), *_least(unbroken, whole),
                     full["model"] not in weights.REGISTRY or (weights.CACHE / "weights" / full["model"]).is_dir()))
    return pd.DataFrame(rows, columns=["reader", "precision", "prompts", "answered", "questions", "asked", "fetched"])


def _least(unbroken: pd.Series, whole: pd.DataFrame) -> tuple[int, int]:
    """Questions answered without a gap, the least over data sets, and questions a data set, the most; 0 where nothing is asked."""
    return (int(unbroken.min()), int(whole.groupby("dataset").size().max())) if len(whole) else (0, 0)


def answered(asked: pd.DataFrame, spec: Mapping, store: Store, known: pd.DataFrame | None = None) -> pd.Series:
    """Whether each row of ``asked`` has this rung's answer in the store, or its score among the committed ones. Boolean, indexed like ``asked``."""
    group = readers.answer_group(spec)
    keys = [entry_key(group, p) for p in asked["prompt"]]
    stored = store.get_many(set(keys))
    scored = scores.rows_for(asked["dataset"], asked["qid"], keys, known if known is not None else scores.nothing())["em"].notna()
    return pd.Series([k in stored for k in keys], index=asked.index) | scored.set_axis(asked.index)


def require(asked: pd.DataFrame, rungs: Sequence[Mapping], store: Store, known: pd.DataFrame | None = None) -> pd.DataFrame:
    """``at_hand``, once it is sure that no rung lacks answers that it cannot give; what weights at hand have to read live goes to the log.

    Raises LadderError for a rung that is not complete and whose registered weights were not fetched: it names the command that fetches them, and the
    number of questions for which every rung is complete.
    """
    table = at_hand(asked, rungs, store, known)
    for row in table[table["answered"] < table["prompts"]].itertuples():
        short = f"rung {row.reader} {row.precision}: {row.answered} of {row.prompts} prompts are answered"
        if not row.fetched:
            fewest = int(table["questions"].min())
            less = f", or set questions_per_set to {fewest}, for which every rung is complete" if 0 < fewest < row.asked else ""
            raise LadderError(f"{short}, and the weights are not here; fetch them with `python -m lib.weights {row.reader}` (registered, pinned by sha256) and "
                              f"run again: the rest is read live{less}; or take the rung out of params.yaml")
        LOG.warning("%s; the other %d are read live", short, row.prompts - row.answered)
    return table
