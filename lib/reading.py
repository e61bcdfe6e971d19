"""Every context past every reader, each distinct prompt once; the answers table (SPEC 5 and 6)."""
from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from lib import diagnostics, likelihood, pack_ids, readers, scores, scoring
from lib.recorded import entry_key
from lib.store import Store
from lib.tables import ROOT, TABLES, write_atomically
from lib.whole import check_whole

LOG = logging.getLogger("lib.reading")
EMPTY = hashlib.sha256(b"").hexdigest()
LEAST_AGREEMENT = 0.9
PASSED = ROOT / "data" / "cache" / "live"


def of_hash(qid: str) -> str:
    """A fixed shuffle of questions, the same for every table and run."""
    return hashlib.sha256(f"read:{qid}".encode()).hexdigest()


def to_read(questions: pd.DataFrame, contexts: pd.DataFrame, policies: Sequence[str], budget: int, per_set: int | Mapping[str, int] = 0,
            pack_id: str | None = None) -> pd.DataFrame:
    """One row a question and policy to be read, closed book included, with its prompt.

    Columns: dataset, qid, pack_id, policy, budget, question, answers, context, context_hash, prompt. ``pack_id`` defaults to the pack that holds every
    budget (the main one); ``per_set`` > 0 keeps that many questions a data set, in the order of ``of_hash``, a mapping as many as it says of each (0, or not
    named: all). Raises ValueError for a context that is not there, or where no pack holds more budgets than the others.
    """
    questions = first(questions, per_set, "questions_per_set")
    pack_id = pack_id or _main_pack(contexts)
    used = contexts[(contexts["budget"] == budget) & (contexts["pack_id"] == pack_id) & contexts["policy"].isin(policies)]
    absent = sorted(set(policies) - set(used["policy"]))
    if absent:
        raise ValueError(f"no contexts at budget {budget} for {absent}; notebook 02 packed {sorted(set(contexts['policy']))} at {sorted(set(contexts['budget']))}")
    ask = questions[["dataset", "qid", "question", "answers"]]
    shown = ask.merge(used[[*diagnostics.PACK_KEY, "context", "context_hash"]], on=["dataset", "qid"])
    wanted = pd.MultiIndex.from_frame(ask[["dataset", "qid"]].merge(pd.Series(list(policies), name="policy"), how="cross"))
    lost = wanted.difference(pd.MultiIndex.from_frame(shown[["dataset", "qid", "policy"]]))
    if len(lost):
        raise ValueError(f"{len(lost)} of {len(wanted)} contexts at budget {budget} are not in pack {pack_id!r}, first {lost[0]}; rerun 02")
    shown = shown.assign(prompt=[readers.build_prompt(c, q) for c, q in zip(shown["context"], shown["question"])])
    closed = ask.assign(**diagnostics.CLOSED_BOOK, context="", context_hash="closed_book")
    closed = closed.assign(prompt=[readers.build_prompt("", q, "closed_book") for q in closed["question"]])
    return pd.concat([shown, closed], ignore_index=True)


def graph_to_read(questions: pd.DataFrame, contexts: pd.DataFrame, policies: Sequence[str], budget: int, per_set: int | Mapping[str, int] = 0) -> pd.DataFrame:
    """The same for contexts of graph snippets (representation ``ace``), without the closed book; no row where none were packed or none are asked for."""
    packs = sorted(p for p in set(contexts["pack_id"]) if pack_ids.representation(p) == "ace")
    made = [to_read(questions, contexts, policies, budget, per_set, p) for p in packs if policies]
    rows = pd.concat(made) if made else to_read(questions, contexts, [], budget, per_set, _main_pack(contexts))
    return rows[rows["policy"] != diagnostics.CLOSED_BOOK["policy"]].reset_index(drop=True)


def first(questions: pd.DataFrame, per_set: int | Mapping[str, int], parameter: str = "the number of questions of a data set") -> pd.DataFrame:
    """The questions to be read: the first ``per_set`` of each data set in the order of ``of_hash``; 0 takes all.

    Raises ValueError for what is no such number, and for a name that no data set can have; ``parameter`` is how the caller calls ``per_set``.
    """
    whole = per_set if isinstance(per_set, Mapping) else dict.fromkeys([*questions["dataset"].unique(), ""], per_set)  # "": checked without a question, too
    for name, n in whole.items():
        check_whole(parameter, n, 0, mend=f" for {name} (0: all); mend it in params.yaml" if name else " (0: all); mend it in params.yaml")
    asked = {name: n for name, n in whole.items() if name}
    if lost := _nowhere(asked, questions):
        raise ValueError(f"{parameter} names {lost}, and there is no data set of that name; this run has {sorted(set(questions['dataset']))}; "
                         "mend it in params.yaml")
    if not any(asked.values()):
        return questions
    shuffled = questions.assign(order=questions["qid"].map(of_hash)).sort_values(["dataset", "order"])
    place = shuffled.groupby("dataset").cumcount()
    limit = shuffled["dataset"].map(asked).fillna(0)
    return shuffled[(limit == 0) | (place < limit)].drop(columns="order")


def _nowhere(names: Iterable[str], questions: pd.DataFrame) -> list[str]:
    """Those of ``names`` that are no data set of this run and could be none of another (a set whose files are not here is skipped, not misspelt)."""
    return [name for name in sorted(map(str, set(names) - set(questions["dataset"]))) if not _ruled(name)]


def _ruled(dataset: str) -> bool:
    try:
        return bool(scoring.rule_for(dataset))
    except ValueError:
        return False


def _main_pack(contexts: pd.DataFrame) -> str:
    budgets = contexts.groupby("pack_id")["budget"].nunique()
    if (budgets == budgets.max()).sum() > 1:
        raise ValueError(f"packs {list(budgets.index[budgets == budgets.max()])} hold as many budgets each; name the one to read by pack_id")
    return str(budgets.idxmax())


def read_all(asked: pd.DataFrame, specs: Sequence[Mapping], store: Store, batch_size: int = 16, known: pd.DataFrame | None = None) -> pd.DataFrame:
    """The answers table: every row of ``asked`` (distinct contexts) past every reader, scored by its data set's own rule.

    ``known`` (``scores.committed()``): an answer that no store holds but whose score is known is not generated; its text is missing.
    """
    distinct = asked.drop_duplicates(["dataset", "qid", "context_hash"]).reset_index(drop=True)
    if distinct.empty:
        return pd.DataFrame(columns=list(TABLES["answers"].columns))
    return pd.concat([_read_by(spec, distinct, store, batch_size, known) for spec in specs], ignore_index=True)


def _read_by(spec: Mapping, distinct: pd.DataFrame, store: Store, batch_size: int, known: pd.DataFrame | None) -> pd.DataFrame:
    group, full = readers.answer_group(spec), readers.full_spec(spec)
    keys = [entry_key(group, p) for p in distinct["prompt"]]
    frame = distinct[["dataset", "qid", "context_hash", "answers"]].assign(
        reader=short_name(full["model"]), precision=full["precision"], reader_id=readers.reader_id(spec), prompt_hash=keys)
    scored = scores.rows_for(frame["dataset"], frame["qid"], keys, known if known is not None else scores.nothing())
    stored = store.get_many(keys)
    silent = scored["em"].notna() & ~frame["prompt_hash"].isin(stored)
    said = pd.DataFrame(readers.read_prompts(distinct.loc[~silent, "prompt"].tolist(), spec, store, batch_size=batch_size), index=frame.index[~silent])
    spoken = _scored(frame[~silent].join(said[["prediction", "raw_text", "n_prompt_tokens", "n_new_tokens"]])) if len(said) else frame[:0]
    kept = frame[silent].join(scored[silent]).assign(prediction=pd.NA, raw_text=pd.NA)
    return pd.concat([t for t in (spoken, kept) if len(t)]).sort_index().drop(columns="answers")


def three_fates(asked: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """The first answer that is right, the first that is right in part, and the first that is wrong, with their questions."""
    rows = asked.drop(columns="answers").merge(answers, on=["dataset", "qid", "context_hash"]).merge(asked[["dataset", "qid", "answers"]], on=["dataset", "qid"])
    fates = [rows[rows["em"] == 1], rows[(rows["em"] == 0) & (rows["f1"] > 0)], rows[rows["f1"] == 0]]
    return pd.concat([f.head(1) for f in fates]).assign(answers=lambda t: t["answers"].map(" / ".join))


def short_name(model: str) -> str:
    """``Qwen/Qwen2.5-3B-Instruct`` -> ``Qwen2.5-3B-Instruct``: how a reader is called in tables."""
    return model.rstrip("/").split("/")[-1]


def _scored(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows.copy()
    rules = {d: scoring.rule_for(d) for d in rows["dataset"].unique()}
    for suffix, column in (("", "prediction"), ("_raw", "raw_text")):
        pairs = [scoring.score_answer(p, a, rules[d]) for p, a, d in zip(rows[column], rows["answers"], rows["dataset"])]
        rows[f"em{suffix}"], rows[f"f1{suffix}"] = [p[0] for p in pairs], [p[1] for p in pairs]
    return rows


def check_live(asked: pd.DataFrame, spec: Mapping, store: Store, n: int = 40, seed: int = 0, passed: Path = PASSED) -> None:
    """Generate ``n`` random stored prompts again and compare; RuntimeError when fewer than nine in ten agree. The count goes to the log.

    A check that passed is noted under ``passed`` and not repeated for the same prompts and reader ('make test' forgets the notes), so
    that redrawing a figure runs no model.
    """
    told = [n, seed, LEAST_AGREEMENT, readers.reader_id(spec), sorted(set(asked["prompt"]))]
    _check(spec, "answers generated live equal the recorded ones", told, passed, lambda: readers.regenerate(asked["prompt"].tolist(), spec, store, n=n, seed=seed))


def check_likelihoods(pairs: Sequence[tuple[str, str]], spec: Mapping, store: Store, n: int = 10, seed: int = 0, passed: Path = PASSED) -> None:
    """The same for log-probabilities of (prompt, answer) pairs: ``n`` stored ones are computed again."""
    told = [n, seed, LEAST_AGREEMENT, likelihood.NEAR, likelihood.likelihood_group(spec), sorted(set(pairs))]
    _check(spec, "log-probabilities computed live equal the recorded ones", told, passed, lambda: likelihood.regenerate(pairs, spec, store, n=n, seed=seed))


def _check(spec: Mapping, what: str, told: list, passed: Path, run: Callable[[], Mapping]) -> None:
    note = passed / hashlib.sha256(json.dumps(told).encode()).hexdigest()
    if note.exists():
        LOG.warning("%s: %s (checked before)", short_name(spec["model"]), note.read_text(encoding="utf-8"))
        return
    found = run()
    said = f"{found['same']} of {found['n']} {what}"
    LOG.warning("%s: %s", short_name(spec["model"]), said)
    if found["agreement"] < LEAST_AGREEMENT:
        raise RuntimeError(f"{spec['model']}: only {said} (at least {LEAST_AGREEMENT:.0%} must); the weights, the prompt or the arithmetic differ. "
                           "'make live' shows which")
    write_atomically(note, lambda p: Path(p).write_text(said, encoding="utf-8"))
