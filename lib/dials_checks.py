"""A null for the worlds: the answers dealt to other questions (SPEC 9). Packing does not know them, so no packer may keep more of them than another."""
from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pandas as pd

from lib import survival
from lib.text import normalise_answer


def dealt(rows: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """``rows`` of ``dials_stream.packed`` with each question's answer given to another: answer, answer_in_context and ``chance`` are new.

    ``chance``: the share of all other answers that stand in the context, so what the new answer_in_context is on average over all ways to deal;
    in a world of 3,000 passages one in 3,000. Raises ValueError for fewer than two questions.
    """
    asked = rows.drop_duplicates("qid")[["qid", "answer"]].sort_values("qid")
    if len(asked) < 2:
        raise ValueError(f"answers can be dealt among two questions or more, got {len(asked)}; pack more questions")
    order = np.random.default_rng(seed).permutation(len(asked))
    new = dict(zip(asked["qid"].to_numpy()[order], asked["answer"].to_numpy()[np.roll(order, 1)]))
    given = rows["qid"].map(new)
    held = survival.answers_in_contexts([[a] for a in given], [c.split("\n") for c in rows["context"]])["answer_in_context"].to_numpy()
    return rows.assign(answer=given, answer_in_context=held, chance=_chance(rows, dict(zip(asked["qid"], asked["answer"]))))


def _chance(rows: pd.DataFrame, answers: dict[str, str]) -> np.ndarray:
    """The share of the other questions' answers that stand in each context, each snippet searched once."""
    runs = {q: normalise_answer(a) for q, a in answers.items()}
    count, rare = Counter(runs.values()), Counter(t for run in set(runs.values()) for t in set(run.split()))
    by_token = defaultdict(list)
    for run in count:
        by_token[min(run.split(), key=lambda t: (rare[t], t))].append(run)
    known: dict[str, set[str]] = {}
    out = []
    for qid, context in zip(rows["qid"], rows["context"]):
        inside: set[str] = set()
        for snippet in context.split("\n"):
            if snippet not in known:
                said = f" {normalise_answer(snippet)} "
                known[snippet] = {run for t in set(said.split()) for run in by_token.get(t, ()) if f" {run} " in said}
            inside |= known[snippet]
        out.append((sum(count[run] for run in inside) - (runs[qid] in inside)) / (len(answers) - 1))
    return np.array(out)
