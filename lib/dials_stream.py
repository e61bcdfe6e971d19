"""Questions of a generated world, packed in a stream (SPEC 9): of all questions the texts and pools are held, the rest of a chunk alone.

What ``packing.pack_all`` does with tables, for own pools ranked by a dense encoder in the published setting: a test holds the two to the same contexts.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import evidence, packers, retrieval, survival, worlds, worlds_retold, worlds_text
from lib.dials_passages import Cut, Key, Shelf
from lib.worlds_chains import Chains
from lib.worlds_dials import check_size, check_whole, dials
from lib.worlds_graph import World

CHUNK = 1_000  # questions at once
CHECKED = 50   # contexts a chunk that are counted again, joined
Chance = Callable[[str, pd.DataFrame, np.ndarray, np.ndarray], np.ndarray]  # as lib.tuned.chances
TOLD = ["hops", "surfaced", "repeated", "place", "shared"]


class Job(NamedTuple):
    """What is packed; hashable, so that a process lays a world out once."""

    n_questions: int
    seed: int
    documents: int
    dials: tuple[tuple[str, object], ...]
    encoder: str | retrieval.Encoder
    tokenizer: str


class Laid(NamedTuple):
    """A world laid out for asking: its chains, questions, answers, the tellings in each pool (m, 10, 2), and its passages."""

    made: World
    found: Chains
    questions: list[str]
    answers: list[str]
    tellings: np.ndarray
    shelf: Shelf
    opened: np.ndarray


def packed(n_questions: int, policies: Sequence[str], budget: int = 160, seed: int = 0, documents: int = 3_000, encoder: str | retrieval.Encoder = "wordllama",
           tokenizer: str = "smollm2-135m", depth: int = 5, workers: int = 1, chunk: int = CHUNK, chance: Chance | None = None,
           **turned: object) -> Iterator[pd.DataFrame]:
    """A table a chunk of questions, in their order, with a row a question and packer; ``turned`` are dials of ``worlds.world``.

    Columns: qid, policy, answer_in_context, answer_in_pool (0, 1), gold_coverage, gold_in_pool [0, 1], n_tokens, context; question, answer; and what the
    dials move: hops, surfaced (0 or 1: the answer's passage), repeated (share of the pool's passages that retell another), place ([0, 1]: where in its
    passage the answer starts), shared (share of the question's words in the answer's sentence). ``chance`` (``lib.tuned.chances``) is what the packer tuned
    has learned. With several ``workers`` the encoder must be a name. ValueError for a parameter out of range, or a tokenizer whose counts do not add up.
    """
    for name, value in (("budget", budget), ("depth", depth), ("chunk", chunk), ("workers", workers)):
        check_whole(name, value, 1)
    if workers > 1 and not isinstance(encoder, str):
        raise ValueError(f"with {workers} workers encoder must be a name that each process can load, got {type(encoder).__name__}; take one worker")
    if unknown := [p for p in policies if p not in packers.PACKERS or p == "gold"]:
        raise ValueError(f"no packer of retrieved passages is called {unknown[0]!r}; there are {', '.join(p for p in packers.PACKERS if p != 'gold')}")
    check_size(n_questions, seed, documents)
    job = Job(n_questions, seed, documents, tuple(dials(**turned).items()), encoder, tokenizer)
    spans = [(a, min(a + chunk, n_questions)) for a in range(0, n_questions, chunk)]
    rest = (tuple(policies), budget, depth, chance)
    if workers == 1:
        return (_chunk(job, *span, *rest) for span in spans)
    from joblib import Parallel, delayed

    return Parallel(n_jobs=workers, return_as="generator")(delayed(_chunk)(job, *span, *rest) for span in spans)


@lru_cache(maxsize=1)
def _laid(job: Job) -> Laid:
    turned = dict(job.dials)
    made, found = worlds.asked(job.n_questions, turned["hops"], job.seed, job.documents)
    tellings = worlds_retold.retold(made, worlds.own_pools(made, found), turned["hops"], turned["redundancy"])
    encoder = retrieval.encoder(job.encoder) if isinstance(job.encoder, str) else job.encoder
    wording = {k: turned[k] for k in ("surfacing", "position", "paraphrase")}
    return Laid(made, found, worlds_text.questions(made, found), [worlds.answer(made, found, i) for i in range(job.n_questions)], tellings,
                Shelf(made, wording, encoder, evidence.budget_tokenizer(job.tokenizer)), worlds_text.is_open(made, turned["surfacing"]))


def _chunk(job: Job, first: int, end: int, policies: tuple[str, ...], budget: int, depth: int, chance: Chance | None) -> pd.DataFrame:
    """The rows of the questions from place ``first`` up to ``end``."""
    laid = _laid(job)
    tops, asked = _tops(laid, first, end, depth)
    laid.shelf.cut({key for top in tops for key in top})
    rows, packs, pools = [], [], []
    for i, top, vector in zip(range(first, end), tops, asked):
        texts = [t for key in top for t in laid.shelf.cuts[key].texts]
        c = candidates(f"q{i + 1:06d}", laid.questions[i], [laid.shelf.cuts[key] for key in top])
        c = c if chance is None else replace(c, chance=_chances(chance, laid, i, c, texts, top, vector))
        found = [[k for k, _ in packers.pack(c, policy, budget)] for policy in policies]
        rows += _rows(laid, i, top, c, policies, found)
        packs += [[texts[k] for k in picks] for picks in found]
        pools += [texts] * len(policies)
    out = pd.DataFrame(rows, columns=["qid", "policy", "gold_coverage", "gold_in_pool", "n_tokens", "question", "answer", *TOLD])
    _check_counts(out, packs, laid.shelf.count, job.tokenizer)
    golds = [[a] for a in out["answer"]]
    held, there = (survival.answers_in_contexts(golds, t)["answer_in_context"] for t in (packs, pools))
    return out.assign(answer_in_context=held, answer_in_pool=there, context=[evidence.joined(p) for p in packs])


def _rows(laid: Laid, i: int, top: list[Key], c: packers.Candidates, policies: Sequence[str], found: list[list[int]]) -> list[tuple]:
    """One row a packer of question ``i``, from the picks it ``found``."""
    gold = {(t, 0) for t in laid.found.things[i].tolist()}
    seen = [{top[d] for d in c.document[picks].tolist()} for picks in found]
    rest = (laid.questions[i], laid.answers[i], *_told(laid, i))
    return [(c.qid, policy, len(gold & s) / len(gold), len(gold & set(top)) / len(gold), int(c.costs[picks].sum()), *rest)
            for policy, s, picks in zip(policies, seen, found)]


def _tops(laid: Laid, first: int, end: int, depth: int) -> tuple[list[list[Key]], np.ndarray]:
    """The ``depth`` passages of each question's own pool nearest to it, best first, as ``retrieval.rank`` has them; and the questions' vectors."""
    pools = [list(map(tuple, pool)) for pool in laid.tellings[first:end].tolist()]
    laid.shelf.whole({key for pool in pools for key in pool})
    asked = retrieval.truncate(laid.shelf.encoder.encode(laid.questions[first:end]))
    out = []
    for vector, pool in zip(asked, pools):
        whole = [laid.shelf.wholes[key] for key in pool]
        scores = retrieval.dense_scores(vector[None], np.stack([w.vector for w in whole]))[0]
        out.append([pool[k] for k in sorted(range(len(pool)), key=lambda k: (-scores[k], whole[k].tie))[:depth]])
    return out, asked


def candidates(qid: str, question: str, cuts: Sequence[Cut]) -> packers.Candidates:
    """The snippets of passages in first-stage order as candidates: what ``evidence.candidates`` makes of a table's rows."""
    texts, sizes = [t for cut in cuts for t in cut.texts], [len(cut.texts) for cut in cuts]
    unit = np.concatenate([cut.vectors for cut in cuts]).astype(float)
    rank, position = np.repeat(np.arange(1, len(cuts) + 1), sizes), np.concatenate([np.arange(n) for n in sizes])
    return packers.Candidates(
        qid=qid, ids=tuple(f"{r}#{p}" for r, p in zip(rank.tolist(), position.tolist())), relevance=evidence.lexical_relevance(question, texts, {}),
        costs=np.concatenate([cut.costs for cut in cuts]), terms=evidence.term_matrix(question, texts),
        similarity=np.clip(np.round(unit @ unit.T, 12), 0, 1), document=rank - 1, doc_rank=rank, position=position)


def _chances(chance: Chance, laid: Laid, i: int, c: packers.Candidates, texts: list[str], top: list[Key], asked: np.ndarray) -> np.ndarray:
    rows = pd.DataFrame({"title": [laid.shelf.wholes[top[d]].told.title for d in c.document], "text": texts, "doc_id": [str(top[d]) for d in c.document],
                         "doc_rank": c.doc_rank, "position": c.position, "n_tokens": c.costs.astype(int)})
    return chance(laid.questions[i], rows, np.concatenate([laid.shelf.cuts[key].vectors for key in top]), asked)


def _told(laid: Laid, i: int) -> tuple[int, int, float, float, float]:
    """What the dials move, of question ``i``: the columns of TOLD."""
    last, hops = int(laid.found.things[i, -1]), laid.found.things.shape[1]
    told = laid.shelf.wholes[last, 0].told
    at = told.text.index(laid.answers[i])
    sentence = next(told.text[a:b] for a, b in told.sentences if a <= at < b)
    return (hops, int(hops == 1 or laid.opened[last]), float((laid.tellings[i, :, 1] > 0).mean()), at / len(told.text),
            float(evidence.lexical_relevance(laid.questions[i], [sentence], {})[0]))


def _check_counts(rows: pd.DataFrame, packs: list[list[str]], count: evidence.Count, tokenizer: str) -> None:
    """Raise ValueError where one of the first contexts does not cost, joined, what its snippets cost."""
    whole = count([evidence.joined(p) + evidence.SEPARATOR if p else "" for p in packs[:CHECKED]])
    for qid, parts, n in zip(rows["qid"], rows["n_tokens"], whole):
        if parts != n:
            raise ValueError(f"tokenizer {tokenizer!r} is refused: the snippets of question {qid} cost {parts} tokens one by one but {n} joined; "
                             "choose one that never merges across a line break (SmolLM2, Qwen2.5)")
