"""One question's four passages under several arms, with what each holds of its evidence: a row to read before any mean (document 001, the sealed tray)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from lib import policy_chunks
from lib import policy_filters as filters
from lib.policy_arms import USUAL, Lists, Search
from lib.policy_bundles import EVIDENCE
from lib.policy_corpus import PolicyCorpus

COLUMNS = ["arm", "place", "source", "part", "holds", "text"]


def changed(outcomes: pd.DataFrame, before: str, after: str, slice: str = "exclusion") -> str | None:
    """The first question of the slice whose evidence is complete under ``after`` and not under ``before``; None where there is none."""
    wide = outcomes[outcomes["slice"] == slice].pivot(index="qid", columns="arm", values="complete")
    found = wide.index[(wide[before] == 0) & (wide[after] == 1)] if {before, after} <= set(wide) else []
    return min(found) if len(found) else None


def tray(corpus: PolicyCorpus, arms: Mapping[str, Lists], qid: str | None, names: Sequence[str], how: Search = USUAL, letters: int = 110) -> pd.DataFrame:
    """``COLUMNS``: the passages shown under each arm of ``names``; ``holds``: roles of the evidence that stands in it whole; none without a question."""
    rows: list[tuple] = []
    if qid is None:
        return pd.DataFrame(rows, columns=COLUMNS)
    question = corpus.questions.set_index("qid").loc[qid].to_dict()
    allowed = filters.admissible(corpus.documents, question, how.rules, how.least_authority)
    named = corpus.documents.set_index("doc_id")["identifier"]
    mine = corpus.judgements[(corpus.judgements["qid"] == qid) & corpus.judgements["label"].isin(EVIDENCE)]
    for name in names:
        here = arms[name].index
        judged, chunks = policy_chunks.holders(mine, here.chunks), here.chunks.set_index("chunk_id")
        for place, chunk in enumerate(filters.shown(arms[name].found[qid], here.document_of, allowed, how.places), 1):
            held = dict.fromkeys(r for r, holders in zip(judged["role"], judged["holders"]) if r and chunk in holders)
            text = chunks.at[chunk, "text"]
            told = text if len(text) <= letters else text[:letters].rsplit(" ", 1)[0] + " …"
            rows.append((name, place, named[chunks.at[chunk, "doc_id"]], chunks.at[chunk, "kind"], ", ".join(held), told))
    return pd.DataFrame(rows, columns=COLUMNS)


def asked(corpus: PolicyCorpus, qid: str | None) -> str:
    """The question, and what a reviewer must be able to establish; a sentence where there is none."""
    if qid is None:
        return "No question of this kind changes."
    row = corpus.questions.set_index("qid").loc[qid]
    roles = row["roles"] if isinstance(row.get("roles"), list) else []
    claim = row.get("operative_claim")
    return f"*{row['question']}*" + (f" To establish: {claim}" if isinstance(claim, str) else "") + (f" (needs {' and '.join(roles)})" if roles else "")
