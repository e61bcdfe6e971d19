"""Generated worlds: invented passages and questions whose truth is known by construction, with dials (SPEC 9, document 000, section 6).

A world is ``documents`` passages about people, towns, rivers, firms, halls and books. Each passage tells two links to other passages and two
answers that no other passage holds. A question follows ``hops`` passages: "Who founded the thrifty sawmill that paid for Brelvax Hall?"

The dials (what they mean was fixed before any packer was compared on them; texts and pools were mended until the levels, not the contrasts, behaved):

- ``hops`` (1 to 4): passages to combine. Question i has the same answer at every number of hops, asked for from one link farther away each time.
- ``surfacing`` [0, 1]: the probability that a passage calls its subject what questions call it ("a thrifty sawmill"). Otherwise it is veiled: it
  describes its subject in words that no question uses ("a business that threw nothing away") and is found by its name, which only the passage
  before tells. The first passage is named by the question and counts as surfaced, so at one hop the dial moves distractors only: a control.

Turning one dial keeps all else: every setting draws on the same random numbers, so curves are paired by question. Raising ``surfacing`` only opens
passages, and changes nothing in them but the first sentence, about equally long either way. No dial rules that half of all facts, in veiled and open
passages alike, are told in the question's words (``worlds_text.PARAPHRASED``).

An answer stands in one passage of the world and nowhere else, so answer-in-context cannot be hit by accident. With the answers dealt to other questions
it is hit where a pool happens to hold the other answer: ten passages of ``documents`` a question, 0.3 % of questions in a world of 3,000.
"""
from __future__ import annotations

from numbers import Real

import numpy as np
import pandas as pd

from lib import tables, worlds_chains, worlds_graph, worlds_text
from lib.passages import half
from lib.worlds_chains import MOST_HOPS, Chains
from lib.worlds_graph import World
from lib.worlds_kinds import KINDS

POOL_SIZE = 10
LEAST = 60  # documents; fewer hold hardly a chain of four passages
TYPES = {1: "single", 2: "bridge"}  # more hops: compositional
PARAMETERS = ("n_questions", "hops", "surfacing", "seed", "documents")


def _check(n_questions: object, hops: object, surfacing: object, seed: object, documents: object) -> None:
    """Raise ValueError for the first parameter that is out of range."""
    _check_whole("n_questions", n_questions, 1)
    _check_whole("hops", hops, 1, MOST_HOPS)
    _check_whole("seed", seed, 0)
    _check_whole("documents", documents, LEAST)
    if isinstance(surfacing, bool) or not isinstance(surfacing, Real) or not 0 <= surfacing <= 1:
        raise ValueError(f"surfacing must be a number from 0 to 1, got {surfacing!r}; it is a probability")
    if documents % len(KINDS):
        raise ValueError(f"documents must be a multiple of {len(KINDS)}, as many of each kind, got {documents}; take {documents + -documents % len(KINDS)}")


def _check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least or (most is not None and value > most):
        raise ValueError(f"{name} must be a whole number {f'from {least} to {most}' if most else f'of {least} or more'}, got {value!r}")


def world_name(hops: int, surfacing: float) -> str:
    """The data set's name at one setting of the dials.

    >>> world_name(2, 0.5)
    'world_h2_s50'
    """
    return f"world_h{hops}_s{100 * surfacing:g}"


def world(n_questions: int, hops: int = 2, surfacing: float = 0.5, seed: int = 0, documents: int = 3_000,
          dataset: str | None = None) -> dict[str, pd.DataFrame]:
    """The tables questions, gold, documents and pools of a generated world, and ``truth`` with one row a gold passage.

    truth: dataset, qid, doc_id, hop, surfaced (it calls its subject what the question does), holds_answer, answer_start and answer_end
    (characters of its text; missing where it does not hold the answer). Raises ValueError for a parameter out of range, and for more
    questions than there are chains.

    >>> world(1, hops=1, seed=7, documents=60)["questions"]["n_hops"].tolist()
    [1]
    """
    _check(n_questions, hops, surfacing, seed, documents)
    made = worlds_graph.build(seed, documents)
    found = worlds_chains.chains(made, hops)
    if n_questions > len(found.leaf):
        raise ValueError(f"a world of {documents} documents has {len(found.leaf)} questions of {hops} hops, got n_questions {n_questions}; "
                         "ask for fewer questions or more documents")
    found, name, told = found.first(n_questions), dataset or world_name(hops, surfacing), worlds_text.paragraphs(made, surfacing)
    qids = [f"q{i:06d}" for i in range(1, n_questions + 1)]
    answers = [worlds_text.bare(made.leaves[thing][leaf]) for thing, leaf in zip(found.things[:, -1], found.leaf)]
    gold = _gold(made, found, name, qids)
    out = {"questions": _questions(worlds_text.questions(made, found), answers, name, qids, hops), "gold": gold.drop(columns="thing"),
           "documents": _documents(made, told, name), "pools": _pools(made, found, name, qids)}
    truth = _truth(gold, worlds_text.is_open(made, surfacing), told, dict(zip(qids, answers)))
    return {k: tables.check(t, k) for k, t in out.items()} | {"truth": truth}


def _questions(asked: list[str], answers: list[str], name: str, qids: list[str], hops: int) -> pd.DataFrame:
    return pd.DataFrame({"dataset": name, "qid": qids, "question": asked, "answers": [[a] for a in answers], "question_type": TYPES.get(hops, "compositional"),
                         "slice": name, "n_hops": hops, "half": [half(q) for q in qids], "seeds": [[] for _ in qids]})


def _gold(made: World, found: Chains, name: str, qids: list[str]) -> pd.DataFrame:
    n, hops = found.things.shape
    return pd.DataFrame({"dataset": name, "qid": np.repeat(qids, hops), "doc_id": made.ids[found.things.ravel()], "grade": 1,
                         "hop": np.tile(np.arange(1, hops + 1), n), "is_last_hop": np.tile(np.arange(1, hops + 1) == hops, n), "thing": found.things.ravel()})


def _documents(made: World, told: list[worlds_text.Paragraph], name: str) -> pd.DataFrame:
    rows = pd.DataFrame({"dataset": name, "doc_id": made.ids, "title": [p.title for p in told], "text": [p.text for p in told],
                         "sentences": [p.sentences for p in told], "split_by": "worlds"})
    return rows.reindex(columns=list(tables.TABLES["documents"].columns))


def _pools(made: World, found: Chains, name: str, qids: list[str]) -> pd.DataFrame:
    flat = np.concatenate(worlds_chains.own_pools(made, found, POOL_SIZE))
    return pd.DataFrame({"dataset": name, "qid": np.repeat(qids, POOL_SIZE), "doc_id": made.ids[flat]})


def _truth(gold: pd.DataFrame, opened: np.ndarray, told: list[worlds_text.Paragraph], answers: dict[str, str]) -> pd.DataFrame:
    """What is known of each gold passage, sorted as the gold table is read: question, then hop."""
    start = pd.array([told[t].text.index(answers[q]) if last else pd.NA for q, t, last in zip(gold["qid"], gold["thing"], gold["is_last_hop"])], dtype="Int64")
    length = pd.array([len(answers[q]) for q in gold["qid"]], dtype="Int64")
    return gold[["dataset", "qid", "doc_id", "hop"]].assign(surfaced=opened[gold["thing"]] | (gold["hop"] == 1), holds_answer=gold["is_last_hop"],
                                                            answer_start=start, answer_end=start + length)


def load_world(dataset: str, parameters: dict) -> dict[str, pd.DataFrame | dict]:
    """A world as ``lib.datasets`` loads a set: its tables without the truth, and "report". ``parameters`` are those of ``world``.

    Raises ValueError for a parameter that ``world`` does not know. Seeds draw nothing here: a world has as many questions as were asked for.
    """
    if not isinstance(parameters, dict) or "n_questions" not in parameters or set(parameters) - set(PARAMETERS):
        raise ValueError(f"data set {dataset!r}: a world is a block of {', '.join(PARAMETERS)}, of which n_questions must be there, got {parameters!r}; "
                         "mend sources in params.yaml")
    made = world(**parameters, dataset=dataset)
    truth = made.pop("truth")
    return {**made, "report": {k: len(t) for k, t in made.items()} | {"gold_passages_veiled": int((~truth["surfaced"]).sum())}}
