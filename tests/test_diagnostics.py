"""The one join: gold figures as in METRIC_CASES, rows that stay, answers that belong to their contexts, the oracle."""
import hashlib

import pandas as pd
import pytest

from lib import diagnostics, packing, settings, tables
from lib.diagnostics import CLOSED_BOOK, PACK_KEY, closed_book_rows, join, oracle, retrieved_measures, snippet_lists, survive

QUESTIONS = pd.DataFrame({
    "dataset": "d", "qid": ["q1", "q2", "q3"], "question": "?", "answers": [["New York"], ["yes"], ["Oslo"]], "question_type": ["bridge", "comparison_yesno", "single"],
    "slice": "d", "half": [0, 1, 0]})
GOLD = pd.DataFrame({"dataset": "d", "qid": ["q1", "q1", "q2"], "doc_id": ["D1", "D2", "D1"], "grade": 1, "hop": 1, "is_last_hop": pd.NA})
SNIPPETS = pd.DataFrame({"dataset": "d", "snippet_id": ["a", "b", "c"], "doc_id": ["D1", "D1", "D3"], "text": ["He lives in New", "York is far", "New York, yes"],
                         "n_tokens": [30, 20, 50]})


def tables_of(*rows):
    """packs and contexts from (qid, policy, snippet ids in reading order)."""
    unit = SNIPPETS.set_index("snippet_id")
    packs = [("d", q, "p", policy, 100, k, s, unit.loc[s, "doc_id"], unit.loc[s, "n_tokens"], 0.0) for q, policy, ids in rows for k, s in enumerate(ids)]
    contexts = []
    for q, policy, ids in rows:
        text = "\n".join(unit.loc[s, "text"] for s in ids)
        contexts.append(("d", q, "p", policy, 100, text, hashlib.sha256(text.encode()).hexdigest(), sum(unit.loc[s, "n_tokens"] for s in ids), len(ids)))
    return (pd.DataFrame(packs, columns=[*PACK_KEY, "position", "snippet_id", "doc_id", "n_tokens", "marginal_gain"]).astype({"budget": "int64"}),
            pd.DataFrame(contexts, columns=[*PACK_KEY, "context", "context_hash", "n_tokens", "n_snippets"]))


ROWS = [("q1", "naive", "abc"), ("q1", "mmr", "ab"), ("q2", "naive", ""), ("q2", "mmr", "c"), ("q3", "naive", "a"), ("q3", "mmr", "")]


def survived(rows=ROWS, gold=GOLD):
    packs, contexts = tables_of(*rows)
    key = pd.MultiIndex.from_frame(QUESTIONS[["dataset", "qid"]])
    return survive(QUESTIONS, gold, snippet_lists(packs, SNIPPETS, contexts), pd.Series([1, 0, 0], key), pd.Series([1, 0, 1], key))


def answers(rows=ROWS, reader="r", **columns):
    contexts = tables_of(*rows)[1].drop_duplicates(["dataset", "qid", "context_hash"])
    return contexts[["dataset", "qid", "context_hash"]].assign(**{"reader": reader, "precision": "fp32", "em": 0.0, "f1": 0.5, "f1_raw": 0.25, **columns})


RETRIEVED = pd.DataFrame({"dataset": "d", "qid": ["q1", "q2"], "pack_id": "p", "recall_at_5": [0.5, 1.0], "all_gold_at_5": [0.0, 1.0]})


def test_metric_case_gold_documents_and_no_answer_across_snippets():
    rows = survived().set_index(["qid", "policy"])
    assert rows.loc[("q1", "naive"), ["gold_coverage", "all_gold_in_context", "gold_density"]].tolist() == [0.5, 0, 0.5]
    assert rows.loc[("q1", "naive"), "answer_in_context"] == 1
    assert rows.loc[("q1", "mmr"), "answer_in_context"] == 0  # "He lives in New" | "York is far"
    assert rows.loc[("q1", "mmr"), "gold_density"] == 1


def test_no_gold_is_missing_and_an_empty_context_is_not():
    rows = survived().set_index(["qid", "policy"])[["gold_coverage", "all_gold_in_context", "gold_density"]]
    assert rows.loc["q3"].isna().all(axis=None)
    assert rows.loc[("q2", "naive")].tolist() == [0, 0, 0]


def test_undefined_answers_count_0_with_their_reason():
    rows = survived().set_index(["qid", "policy"])
    assert rows.loc["q2", "undefined_reason"].tolist() == ["yes/no"] * 2 and not rows.loc["q2", "answer_defined"].any()
    assert rows.loc[("q2", "mmr"), "answer_in_context"] == 0  # although "yes" stands there
    assert rows.loc["q1", "answer_in_pool"].tolist() == [1, 1] and rows.loc["q3", "answer_in_corpus"].tolist() == [1, 1]


def test_the_order_of_the_tables_does_not_matter():
    packs, contexts = tables_of(*ROWS)
    one = snippet_lists(packs, SNIPPETS, contexts)
    two = snippet_lists(packs.iloc[::-1], SNIPPETS.iloc[::-1], contexts)
    pd.testing.assert_frame_equal(one, two)
    assert one.loc[one["qid"].eq("q1") & one["policy"].eq("naive"), "texts"].iloc[0] == SNIPPETS["text"].tolist()
    assert one["tokens"].tolist() == [[30, 20, 50], [30, 20], [], [50], [30], []]


def test_a_pack_without_its_snippet_is_an_error():
    packs, contexts = tables_of(*ROWS)
    with pytest.raises(ValueError, match=r"table packs names snippet 'c' \(d, q1\) that is not in table snippets"):
        snippet_lists(packs, SNIPPETS[SNIPPETS["snippet_id"] != "c"], contexts)


@pytest.mark.parametrize("change", [lambda packs, contexts: (packs[packs["position"] < 2], contexts), lambda packs, contexts: (packs.iloc[:0], contexts),
                                    lambda packs, contexts: (packs, contexts.assign(context=contexts["context"].str.upper()))])
def test_packs_that_are_not_the_context_are_an_error(change):
    packs, contexts = change(*tables_of(*ROWS))
    with pytest.raises(ValueError, match=r"question q1 \(d\), policy naive, budget 100: the text in table contexts is not what table packs names"):
        snippet_lists(packs, SNIPPETS, contexts)


def test_closed_book_packs_nothing_and_nothing_survives():
    rows = closed_book_rows(QUESTIONS)
    assert rows["qid"].tolist() == ["q1", "q2", "q3"]
    assert all((rows[k] == v).all() for k, v in CLOSED_BOOK.items())
    assert not rows[["n_tokens", "n_snippets", "answer_in_context", "answer_in_pool"]].any(axis=None)
    assert rows["answer_defined"].tolist() == [True, False, True]
    assert len(tables.check(rows, "survival")) == 3


def readings(rows=ROWS):
    return tables_of(*rows)[1][[*PACK_KEY, "context_hash"]]


CLOSED_READINGS = QUESTIONS[["dataset", "qid"]].assign(**CLOSED_BOOK, context_hash="closed_book")


def joined(read=None, rows=None, shown=None):
    return join(QUESTIONS, survived() if rows is None else rows, readings() if shown is None else shown, answers() if read is None else read, RETRIEVED)


def test_every_context_has_one_row_a_reader():
    out = joined(pd.concat([answers(), answers(reader="s", f1=0.75)]))
    assert len(out) == len(ROWS) * 2 and not out.duplicated([*PACK_KEY, "reader", "precision"]).any()
    assert set(out[out["reader"] == "s"]["f1"]) == {0.75} and out["em"].notna().all()
    assert len(tables.check(out, "outcomes")) == len(out)


def test_identical_contexts_share_their_answer():
    same = [("q1", "naive", "ab"), ("q1", "mmr", "ab")]
    out = joined(answers(same), survived(same), readings(same))
    assert len(answers(same)) == 1 and out["policy"].tolist() == ["naive", "mmr"] and out["f1"].tolist() == [0.5, 0.5]


def test_a_context_that_was_not_read_keeps_one_row_even_if_its_text_was_read_elsewhere():
    same = [("q1", "naive", "ab"), ("q1", "mmr", "ab")]
    out = joined(answers(same), survived(same), readings(same).query("policy == 'naive'")).set_index("policy")
    assert out["reader"].to_dict() == {"naive": "r", "mmr": "none"} and out.loc["mmr", ["em", "f1"]].isna().all()
    nobody = joined(answers().iloc[:0], shown=readings().iloc[:0])
    assert len(nobody) == len(ROWS) and set(nobody["reader"]) == {"none"} and len(tables.check(nobody, "outcomes")) == len(ROWS)


def test_an_answer_to_another_text_or_none_at_all_is_an_error():
    stale = answers()
    stale.loc[0, "context_hash"] = "0" * 64
    with pytest.raises(ValueError, match=r"question q1 \(d\), policy naive: its context was put before the readers but table answers has no answer"):
        joined(stale)
    with pytest.raises(ValueError, match=r"reader \('s', 'fp32'\) answered 5 of the 6 contexts"):
        joined(pd.concat([answers(), answers(reader="s").iloc[1:]]))
    with pytest.raises(ValueError, match=r"question q1 \(d\), policy naive, budget 100: read, but not in table survival"):
        joined(rows=survived().iloc[1:])


def test_closed_book_answers_meet_the_closed_book_rows():
    closed = pd.DataFrame({"dataset": "d", "qid": ["q1", "q2", "q3"], "context_hash": "closed_book", "reader": "r", "precision": "fp32", "em": 0.0, "f1": 0.125, "f1_raw": 0.0})
    read, shown = pd.concat([answers(), closed]), pd.concat([readings(), CLOSED_READINGS])
    out = joined(read, pd.concat([survived(), closed_book_rows(QUESTIONS)]), shown)
    rows = out[out["policy"] == "closed_book"]
    assert rows["f1"].tolist() == [0.125] * 3 and rows["recall_at_5"].isna().all() and len(out) == len(ROWS) + 3
    with pytest.raises(ValueError, match="policy closed_book, budget 0: read, but not in table survival.*add closed_book_rows"):
        joined(read, shown=shown)  # an arm that was read is not left out in silence


def test_retrieval_measures_belong_to_the_ranking_behind_each_pack():
    rankings = pd.DataFrame([("d", q, scope, "dense", r, doc, -float(r)) for q, scope, docs in [("q1", "own", ["D1", "D9"]), ("q1", "pooled", ["D1", "D2"]),
                             ("q3", "own", ["D1"]), ("q2", "pooled", ["D9"])] for r, doc in enumerate(docs, 1)],
                            columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])
    found = retrieved_measures(rankings, GOLD, {"near": ("own", "dense"), "far": ("pooled", "dense"), "far again": ("pooled", "dense")}).set_index(["pack_id", "qid"])
    assert found.loc[("near", "q1"), ["recall_at_5", "all_gold_at_5"]].tolist() == [0.5, 0]
    assert found.loc[("far", "q1")].equals(found.loc[("far again", "q1")]) and found.loc[("far", "q1"), "all_gold_at_5"] == 1
    assert found.loc[("near", "q2"), "recall_at_5"] == 0 and pd.isna(found.loc[("near", "q3"), "recall_at_5"])


def outcomes(**f1_by_policy):
    rows = [("d", f"q{i}", "p", policy, 100, "r", "fp32", f1) for policy, values in f1_by_policy.items() for i, f1 in enumerate(values)]
    return pd.DataFrame(rows, columns=[*PACK_KEY, "reader", "precision", "f1"])


def test_the_oracle_takes_the_best_and_on_ties_the_policy_named_first():
    rows = outcomes(mmr=[0.5, 1.0, 0.0, None], naive=[0.5, 0.0, 0.0, 0.25], gold=[1.0] * 4)
    best = oracle(rows, ["naive", "mmr"]).set_index("qid")
    assert best["f1"].to_dict() == {"q0": 0.5, "q1": 1.0, "q2": 0.0, "q3": 0.25}
    assert best["chosen"].to_dict() == {"q0": "naive", "q1": "mmr", "q2": "naive", "q3": "naive"}
    assert set(best["policy"]) == {"oracle"}
    assert oracle(rows, ["mmr", "naive"]).set_index("qid")["chosen"].to_dict() == {"q0": "mmr", "q1": "mmr", "q2": "mmr", "q3": "naive"}
    assert oracle(rows.sample(frac=1, random_state=3), ["naive", "mmr"]).set_index("qid")["chosen"].to_dict() == best["chosen"].to_dict()


def test_the_oracle_is_at_least_every_policy_and_chooses_within_reader_and_budget():
    rows = pd.concat([outcomes(naive=[0.1, 0.9], mmr=[0.2, 0.3]), outcomes(naive=[1.0, 1.0], mmr=[0.0, 0.0]).assign(reader="s"),
                      outcomes(naive=[0.0, 0.0], mmr=[0.7, 0.7]).assign(budget=200)])
    best = oracle(rows, ["naive", "mmr"])
    key = ["qid", "reader", "budget"]
    assert len(best) == 6 and not best.duplicated(key).any()
    assert (best.set_index(key)["f1"] == rows.groupby(key)["f1"].max().reindex(best.set_index(key).index)).all()


def test_answers_within_looks_at_each_questions_own_texts():
    found = diagnostics.answers_within(QUESTIONS, {("d", "q1"): ["New", "York"], ("d", "q3"): ["in Oslo"], ("other", "q1"): ["New York"]})
    assert found.to_dict() == {("d", "q1"): 0, ("d", "q2"): 0, ("d", "q3"): 1}


def test_no_torn_question_among_none():
    read = pd.DataFrame({"dataset": ["d"], "qid": ["q"], "policy": ["naive"], "answer_in_context": [1], "f1": [1.0], "gold_coverage": [1.0]})
    assert len(diagnostics.torn_question(read, ["naive"])) == 1
    with pytest.raises(ValueError, match=r"no question was read under any of mmr; policies of these rows are \['naive'\]"):
        diagnostics.torn_question(read, ["mmr"])


def test_graph_packs_are_told_by_their_name_and_a_table_that_says_otherwise_is_refused():
    made = [settings.setting(), settings.setting(representation="ace"), settings.setting(ranker="my.ace")]
    table, rows = packing.settings_rows(made), pd.DataFrame({"pack_id": ["own-dense-5.ace", "own-dense-5.chunk", "own-my.ace-5.chunk", "none"]})
    assert diagnostics.on_graph(rows, table).tolist() == [True, False, False, False] == diagnostics.on_graph(rows, table[:0]).tolist()
    with pytest.raises(ValueError, match="pack 'own-dense-5.ace' is named for another representation than table settings has"):
        diagnostics.on_graph(rows, table.assign(settings=table["settings"].str.replace('"ace"', '"chunk"')))
