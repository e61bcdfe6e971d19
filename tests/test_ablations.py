"""Contexts with something taken out: what goes holds the answer, what stays does not, and the control takes as much of the rest."""
import hashlib
import itertools

import pandas as pd
import pytest

from lib import ablations, diagnostics, reading, survival, tables
from lib.ablations import ablate, others, to_read

KEY = diagnostics.PACK_KEY
SNIPPETS = {  # snippet_id: text
    "a": "Edda Sorrel was born beside the Marl.", "b": "The Marl ends in the Sea of Aumes.", "c": "Elmer keeps bees.", "d": "The Sea of Aumes is far from his garden.",
    "e": "Bees sleep in winter, as every keeper of bees in Harrowfen knows well.",
}
QUESTIONS = pd.DataFrame([("ondrell", "q1", "In which sea does it end?", ["Sea of Aumes", "the Aumes"], "bridge"),
                          ("ondrell", "q2", "Do bees sleep?", ["yes"], "comparison_yesno"),
                          ("ondrell", "q3", "What ends there?", ["Marl"], "single")], columns=["dataset", "qid", "question", "answers", "question_type"])
PACKS = {("q1", "naive"): "abcd", ("q1", "mmr"): "ace", ("q2", "naive"): "e", ("q2", "mmr"): "ce", ("q3", "naive"): "ab", ("q3", "mmr"): "b"}


def world():
    """The tables questions, contexts, packs and snippets: q1 twice holds its answer, q2 has none to look for, q3 has it everywhere."""
    packs = pd.DataFrame([("ondrell", q, "main", p, 100, k, s, f"d-{s}", len(SNIPPETS[s].split())) for (q, p), ids in PACKS.items() for k, s in enumerate(ids)],
                         columns=[*KEY, "position", "snippet_id", "doc_id", "n_tokens"])
    snippets = pd.DataFrame([("ondrell", "q1", i, t) for i, t in SNIPPETS.items()], columns=["dataset", "qid", "snippet_id", "text"])
    texts = {k: "\n".join(SNIPPETS[s] for s in ids) for k, ids in PACKS.items()}
    contexts = pd.DataFrame([("ondrell", *k, t, hashlib.sha256(t.encode()).hexdigest()) for k, t in texts.items()], columns=["dataset", "qid", "policy", "context", "context_hash"])
    return contexts.assign(pack_id="main", budget=100), packs, snippets


def asked(policies=("naive", "mmr")):
    contexts, packs, snippets = world()
    return reading.to_read(QUESTIONS, contexts, list(policies), 100), packs, snippets


def cut(policies=("naive", "mmr")):
    rows, packs, snippets = asked()
    return ablate(rows, QUESTIONS, packs, snippets, list(policies))


def test_only_contexts_that_hold_the_answer_are_ablated_and_the_table_is_the_declared_one():
    table = tables.check(cut()[ablations.TABLE], "ablations")
    assert set(zip(table["qid"], table["policy"])) == {("q1", "naive"), ("q3", "naive"), ("q3", "mmr")}
    assert table.groupby(["qid", "policy"])["removed"].apply(list).to_dict() == {("q1", "naive"): ["answer", "other"], ("q3", "naive"): ["answer"], ("q3", "mmr"): ["answer"]}


def test_the_answer_is_gone_the_rest_stands_in_order_and_nothing_else_is_lost():
    row = cut().query("qid == 'q1' and removed == 'answer'").iloc[0]
    assert row["context"] == f"{SNIPPETS['a']}\n{SNIPPETS['c']}" and (row["n_removed"], row["n_left"]) == (2, 2)
    assert row["ablated_hash"] == hashlib.sha256(row["context"].encode()).hexdigest() != row["context_hash"]
    assert row["prompt"].endswith(f"{row['context']}\nQuestion: {row['question']}\nAnswer:")
    for one in cut().query("removed == 'answer'").itertuples():
        assert not survival.answer_in_context(one.answers, one.context.split("\n")).value


def test_the_control_leaves_the_answer_in_and_takes_out_as_many():
    row = cut().query("qid == 'q1' and removed == 'other'").iloc[0]
    assert row["context"] == f"{SNIPPETS['b']}\n{SNIPPETS['d']}" and (row["n_removed"], row["n_left"]) == (2, 2)
    assert survival.answer_in_context(row["answers"], row["context"].split("\n")).value == 1


def test_a_context_that_is_all_answer_leaves_an_empty_prompt_and_has_no_control():
    row = cut().query("qid == 'q3' and policy == 'mmr'").iloc[0]
    assert (row["context"], row["ablated_hash"], row["n_left"]) == ("", reading.EMPTY, 0) and "Passages:\n\nQuestion:" in row["prompt"]


def test_what_is_left_is_read_once_however_many_policies_leave_it():
    rows = to_read(cut())
    assert not rows.duplicated(["dataset", "qid", "context_hash"]).any() and set(rows["context_hash"]) == set(cut()["ablated_hash"])
    assert len(rows) == 3 < len(cut()), "both packings of q3 leave nothing"


def test_the_order_of_the_rows_changes_nothing():
    rows, packs, snippets = asked()
    shuffled = ablate(rows.sample(frac=1, random_state=1), QUESTIONS.iloc[::-1], packs.sample(frac=1, random_state=2), snippets.iloc[::-1], ["mmr", "naive"])
    pd.testing.assert_frame_equal(*(tables.check(t[ablations.TABLE], "ablations") for t in (shuffled, cut())))


def test_a_policy_that_was_not_read_is_an_error_and_none_gives_an_empty_table():
    rows, packs, snippets = asked()
    with pytest.raises(ValueError, match=r"ablate names \['submod'\], which was not read; read are \['mmr', 'naive'\]"):
        ablate(rows, QUESTIONS, packs, snippets, ["naive", "submod"])
    empty = ablate(rows, QUESTIONS, packs, snippets, [])
    assert len(tables.check(empty[ablations.TABLE], "ablations")) == 0 and len(to_read(empty)) == 0


def test_a_pack_that_is_not_its_context_is_an_error():
    rows, packs, snippets = asked()
    with pytest.raises(ValueError, match="is not what table packs names"):
        ablate(rows, QUESTIONS, packs[packs["snippet_id"] != "c"], snippets, ["naive"])


@pytest.mark.parametrize("holds, tokens", [(h, t) for h in itertools.product([False, True], repeat=4) for t in ([5, 5, 5, 5], [9, 1, 4, 8])])
def test_the_control_is_as_large_as_can_be_and_never_touches_the_answer(holds, tokens):
    out = others(holds, tokens)
    assert len(out) == min(sum(holds), 4 - sum(holds)) and not any(holds[i] for i in out)
    if sum(holds) == 1 and out:  # one removed: by hand
        (at,) = out
        mine = tokens[holds.index(True)]
        assert abs(tokens[at] - mine) == min(abs(t - mine) for i, t in enumerate(tokens) if not holds[i])
