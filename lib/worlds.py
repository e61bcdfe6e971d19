"""Generated worlds: invented passages and questions whose truth is known by construction, with dials (SPEC 9, document 000, section 6).

A world is ``documents`` passages about people, towns, rivers, firms, halls and books. Each passage tells two links to other passages and two
answers that no other passage holds. A question follows ``hops`` passages: "Who founded the thrifty sawmill that paid for Brelvax Hall?"

The dials (what they mean was fixed before any packer was compared on them; texts and pools were mended until the levels, not the contrasts, behaved):

- ``hops`` (1 to 4): passages to combine. Question i has the same answer at every number of hops, asked for from one link farther away each time.
- ``surfacing`` [0, 1]: the probability that a passage calls its subject what questions call it ("a thrifty sawmill"). Otherwise it is veiled: it
  describes its subject in words that no question uses ("a business that threw nothing away") and is found by its name, which only the passage
  before tells. The first passage is named by the question and counts as surfaced, so at one hop the dial moves distractors only: a control.
- ``redundancy`` [0, 1]: the share of a pool's distractors that give way to retellings of its other distractors: the same facts, other words. Gold is
  never retold, so what is to be found, and where its answer stands, stays as it was (``worlds_retold``).
- ``position`` (early, middle, late; drawn at rest): whether a passage tells its two answers before, between or after its two links. What stands
  beside an answer in its snippet follows from it: early, the first sentence that says what the passage is about.
- ``paraphrase`` [0, 1]: the share of facts, links and answers in all passages alike, told in words that no question uses.

Turning one dial keeps all else: every setting draws on the same random numbers, so curves are paired by question. Raising ``surfacing`` only opens
passages and changes but their first sentence, about equally long either way; raising ``paraphrase`` only rewords facts; ``redundancy`` leaves every
passage as it is and adds documents, ``position`` moves sentences and, where two facts share one, makes other pairs.

An answer stands in one passage of a question's pool (in the corpus also in that passage's retellings, table ``retold``), so answer-in-context cannot be
hit by accident. With the answers dealt to other questions it is hit where a pool happens to hold the other answer: ten passages of ``documents`` a
question, 0.3 % of questions in a world of 3,000.
"""
from __future__ import annotations

import numpy as np
import pandas as pd

from lib import tables, worlds_chains, worlds_graph, worlds_retold, worlds_text
from lib.passages import half
from lib.worlds_chains import Chains
from lib.worlds_dials import REST, check_size, dials, world_name
from lib.worlds_graph import World

POOL_SIZE = 10
TYPES = {1: "single", 2: "bridge"}  # more hops: compositional
PARAMETERS = ("n_questions", "hops", "surfacing", "redundancy", "position", "paraphrase", "seed", "documents")


def world(n_questions: int, hops: int = REST["hops"], surfacing: float = REST["surfacing"], seed: int = 0, documents: int = 3_000,
          dataset: str | None = None, **turned: object) -> dict[str, pd.DataFrame]:
    """The tables questions, gold, documents and pools of a generated world, and two on what is known of it; ``turned``: the other dials.

    truth, a row a gold passage: dataset, qid, doc_id, hop, surfaced (it calls its subject what the question does), holds_answer, answer_start and
    answer_end (characters of its text; missing where it does not hold the answer). retold, a row a retelling: dataset, doc_id, of (whose), version.
    Raises ValueError for a parameter out of range, and for more questions than there are chains.

    >>> world(1, hops=1, seed=7, documents=60)["questions"]["n_hops"].tolist()
    [1]
    """
    set_to = dials(hops=hops, surfacing=surfacing, **turned)
    made, found = asked(n_questions, hops, seed, documents)
    name = dataset or world_name(**set_to)
    tellings = worlds_retold.retold(made, own_pools(made, found), hops, set_to["redundancy"])
    wording = {k: set_to[k] for k in ("surfacing", "position", "paraphrase")}
    told = worlds_text.paragraphs(made, **wording)
    qids = qids_of(range(n_questions))
    answers = [answer(made, found, i) for i in range(n_questions)]
    gold = _gold(made, found, name, qids)
    again = _retold(made, tellings, name)
    documents = [_documents(made.ids, told, name)] + ([_documents(again["doc_id"], _told_again(made, again, wording), name)] if len(again) else [])
    pools = pd.DataFrame({"dataset": name, "qid": np.repeat(qids, POOL_SIZE), "doc_id": worlds_retold.shown(made.ids, tellings).ravel()})
    out = {"questions": _questions(worlds_text.questions(made, found), answers, name, qids, hops), "gold": gold.drop(columns="thing"),
           "documents": pd.concat(documents, ignore_index=True), "pools": pools}
    truth = _truth(gold, worlds_text.is_open(made, surfacing), told, dict(zip(qids, answers)))
    return {k: tables.check(t, k) for k, t in out.items()} | {"truth": truth, "retold": again.drop(columns="thing")}


def asked(n_questions: int, hops: int, seed: int, documents: int) -> tuple[World, Chains]:
    """The world of a seed and the chains of its first ``n_questions``; raises ValueError for more than it has."""
    check_size(n_questions, seed, documents)
    made = worlds_graph.build(seed, documents)
    found = worlds_chains.chains(made, hops)
    if n_questions > len(found.leaf):
        raise ValueError(f"a world of {documents} documents has {len(found.leaf)} questions of {hops} hops, got n_questions {n_questions}; "
                         "ask for fewer questions or more documents")
    return made, found.first(n_questions)


def own_pools(made: World, found: Chains) -> np.ndarray:
    """The passages of each question's pool, (m, 10) things, gold first."""
    return np.array(worlds_chains.own_pools(made, found, POOL_SIZE))


def qids_of(places: range) -> list[str]:
    """Question ids by place.

    >>> qids_of(range(2))
    ['q000001', 'q000002']
    """
    return [f"q{i + 1:06d}" for i in places]


def answer(made: World, found: Chains, i: int) -> str:
    """The answer of question ``i``, as its passage has it."""
    return worlds_text.bare(made.leaves[found.things[i, -1]][found.leaf[i]])


def _questions(asked: list[str], answers: list[str], name: str, qids: list[str], hops: int) -> pd.DataFrame:
    return pd.DataFrame({"dataset": name, "qid": qids, "question": asked, "answers": [[a] for a in answers], "question_type": TYPES.get(hops, "compositional"),
                         "slice": name, "n_hops": hops, "half": [half(q) for q in qids], "seeds": [[] for _ in qids]})


def _gold(made: World, found: Chains, name: str, qids: list[str]) -> pd.DataFrame:
    n, hops = found.things.shape
    return pd.DataFrame({"dataset": name, "qid": np.repeat(qids, hops), "doc_id": made.ids[found.things.ravel()], "grade": 1,
                         "hop": np.tile(np.arange(1, hops + 1), n), "is_last_hop": np.tile(np.arange(1, hops + 1) == hops, n), "thing": found.things.ravel()})


def _documents(ids: np.ndarray, told: list[worlds_text.Paragraph], name: str) -> pd.DataFrame:
    rows = pd.DataFrame({"dataset": name, "doc_id": list(ids), "title": [p.title for p in told], "text": [p.text for p in told],
                         "sentences": [p.sentences for p in told], "split_by": "worlds"})
    return rows.reindex(columns=list(tables.TABLES["documents"].columns))


def _retold(made: World, tellings: np.ndarray, name: str) -> pd.DataFrame:
    """The retellings that some pool holds, a row each, by passage and version."""
    things, versions = np.unique(tellings[tellings[..., 1] > 0], axis=0).T
    ids = worlds_retold.shown(made.ids, np.stack([things, versions], axis=-1))
    return pd.DataFrame({"dataset": name, "doc_id": ids, "of": made.ids[things], "version": versions, "thing": things})


def _told_again(made: World, again: pd.DataFrame, wording: dict) -> list[worlds_text.Paragraph]:
    """The paragraphs of the retellings, in the order of ``again``."""
    made_up = {}
    for version, rows in again.groupby("version"):
        told = worlds_text.paragraphs(made, **wording, version=int(version), things=rows["thing"].tolist())
        made_up |= dict(zip(rows.index, told))
    return [made_up[i] for i in again.index]


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
    truth, _ = made.pop("truth"), made.pop("retold")
    return {**made, "report": {k: len(t) for k, t in made.items()} | {"gold_passages_veiled": int((~truth["surfaced"]).sum())}}
