"""The scoring-rule report: the metric cases where scripts differ, counts by hand, and no public text shown."""
import pandas as pd
import pytest

from lib import scoring, tables
from lib.scoring_report import compact, examples, rules_answer, scored, scoring_rules

CASES = [  # METRIC_CASES, "Answer scoring": prediction, gold, EM, F1 by HotpotQA's script, F1 by MuSiQue's
    ("The Beatles", "Beatles", 1, 1, 1), ("Yes.", "yes", 1, 1, 1), ("yes", "Yes, it is", 0, 0, 0.5), ("Yes, both are American", "yes", 0, 0, 0.4),
    ("A", "A", 1, 0, 1), ("Vitamin A", "Vitamin", 1, 1, 1), ("Jay-Z", "Jay Z", 0, 0, 0), ("Barack Obama", "Obama", 0, 2 / 3, 2 / 3),
    ("no answer", "noanswer", 0, 0, 0), ("", "", 1, 0, 1)]
BOTH_EMPTY = [4, 9]  # these two rows: SQuAD 1.1 gives F1 0 as HotpotQA does, SQuAD 2.0 gives 1 as MuSiQue does


def world(rows, dataset="hotpotqa", reader="r"):
    """Questions and answers of ``rows`` (prediction, golds)."""
    qids = [f"q{i}" for i in range(len(rows))]
    questions = pd.DataFrame({"dataset": dataset, "qid": qids, "answers": [g for _, g in rows]})
    answers = pd.DataFrame({"dataset": dataset, "qid": qids, "reader": reader, "precision": "fp32", "prediction": [p for p, _ in rows]})
    return questions, answers.astype({"prediction": "string"})


def test_metric_cases_by_both_scripts():
    found = scored(*world([(p, [g]) for p, g, *_ in CASES]), rules=["hotpotqa", "musique", "squad1", "squad2", "2wiki"])
    for row, (_, _, em, hotpot, musique) in zip(found.itertuples(), CASES):
        assert (row.em_hotpotqa, row.em_musique, row.f1_hotpotqa, row.f1_musique) == pytest.approx((em, em, hotpot, musique))
        assert row.f1_2wiki == row.f1_hotpotqa and row.f1_squad2 == row.f1_musique
    assert found["f1_squad1"].tolist() == pytest.approx([0 if i in BOTH_EMPTY else case[-1] for i, case in enumerate(CASES)])


def test_changed_scores_by_hand():
    table = tables.check(scoring_rules(*world([(p, [g]) for p, g, *_ in CASES]), "t"), "scoring_rules").set_index("rule")
    assert set(table.index) == set(scoring.RULES) - {"hotpotqa"} and set(table["own_rule"]) == {"hotpotqa"} and set(table["n"]) == {10}
    assert table.loc["musique", ["changed_em", "changed_f1"]].tolist() == [0, 4]  # yes / Yes, it is; Yes, both ...; A; and the empty one
    assert table.loc["squad1", "changed_f1"] == 2 and table.loc["2wiki", "changed_f1"] == table.loc["ondrell", "changed_f1"] == 0
    for column, k in (("own_f1", 3), ("mean_f1", 4)):
        assert table.loc["musique", column] == pytest.approx(sum(case[k] for case in CASES) / len(CASES))
    assert table.loc["musique", "own_em"] == table.loc["musique", "mean_em"] == pytest.approx(0.5)


def test_aliases_are_what_hotpotqas_script_does_not_know():
    table = scoring_rules(*world([("Roma", ["Rome", "Roma"]), ("Rome", ["Rome", "Roma"])], "musique"), "t").set_index("rule")
    assert table.loc["hotpotqa", ["changed_em", "changed_f1", "mean_em", "own_em"]].tolist() == [1, 1, 0.5, 1.0]
    assert not table.drop(index="hotpotqa")[["changed_em", "changed_f1"]].any(axis=None)


def test_the_counts_are_those_of_the_report_in_scoring():
    rows = [("yes", ["Yes, it is"]), ("A", ["A"]), ("Roma", ["Rome", "Roma"]), ("", [""]), (None, ["Rome"])]
    questions, answers = world(rows, "musique_ans")
    ours = scoring_rules(questions, answers, "t").set_index("rule")
    peer = scoring.scoring_report(answers.assign(answers=questions["answers"])).set_index("other_rule")
    for column, theirs in (("changed_em", "n_em_changed"), ("changed_f1", "n_f1_changed"), ("mean_em", "mean_em_other"), ("mean_f1", "mean_f1_other"),
                           ("own_em", "mean_em"), ("own_f1", "mean_f1"), ("n", "n")):
        assert ours[column].to_dict() == pytest.approx(peer[theirs].to_dict())


def test_each_reader_has_its_rows_and_answers_to_several_prompts_count_each():
    rows = [("Rome", ["Rome"]), ("no", ["Yes, it is"]), ("yes", ["Yes, it is"])]
    questions, answers = world(rows)
    both = pd.concat([answers, answers.iloc[1:], answers.iloc[:2].assign(reader="s")])
    table = scoring_rules(questions, both, "t").set_index(["reader", "rule"])
    columns = ["n", "clusters", "changed_f1"]
    assert table.loc[("r", "musique"), columns].tolist() == [5, 3, 2] and table.loc[("s", "musique"), columns].tolist() == [2, 2, 0]
    assert scoring_rules(questions, both.sample(frac=1, random_state=0), "t").equals(table.reset_index()[list(tables.TABLES["scoring_rules"].columns)])


def test_answers_without_their_text_are_not_compared():
    questions, answers = world([("yes", ["Yes, it is"]), (None, ["Rome"])])
    table = tables.check(scoring_rules(questions, answers, "real"), "scoring_rules")
    assert set(table["n"]) == {1}
    table = tables.check(scoring_rules(questions, answers.assign(prediction=pd.NA), "real"), "scoring_rules")
    assert len(table) == 5 and set(table["n"]) == {0} and not table["changed_f1"].any()
    assert table[["mean_em", "mean_f1", "own_em", "own_f1"]].isna().all(axis=None)
    assert "no answer's text is at hand" in rules_answer(table) and set(compact(table)["MuSiQue"]) == {""}
    assert tables.check(scoring_rules(questions, answers.iloc[:0], "real"), "scoring_rules").empty


def test_text_is_shown_of_the_sample_corpus_only():
    mixed = [("Roma", ["Rome", "Roma"]), ("Rome", ["Rome"])]
    ours = world(mixed, "ondrell")
    shown = examples(*ours, "sample")
    assert shown[["prediction", "gold"]].values.tolist() == [["Roma", "Rome | Roma"]] and shown.iloc[0, 3:].tolist() == [1.0, 0.0]
    for tier, data in (("real", ours), ("paper", ours), ("own", ours), ("sample", world(mixed, "musique"))):
        hidden = examples(*data, tier)
        assert hidden.empty and list(hidden) == list(shown)
        assert "Roma" not in hidden.to_string() + scoring_rules(*data, tier).to_string() + compact(scoring_rules(*data, tier)).to_string()
    with pytest.raises(ValueError, match="unknown scoring rule"):
        examples(*ours, "sample", rule="trivia")


def test_examples_come_largest_change_first_and_each_wording_once():
    rows = [("New Roma", ["Rome", "Roma"]), ("Roma", ["Rome", "Roma"]), ("Roma", ["Rome", "Roma"]), ("York", ["New York", "York"]), ("Rome", ["Rome", "Roma"])]
    shown = examples(*world(rows, "ondrell"), "sample", n=5)
    assert shown["prediction"].tolist() == ["Roma", "New Roma", "York"] and len(examples(*world(rows, "ondrell"), "sample", n=1)) == 1


def test_a_data_set_without_a_rule_is_refused():
    with pytest.raises(ValueError, match="trivia"):
        scoring_rules(*world([("x", ["y"])], "trivia"), "t")


def test_the_compact_view_and_its_sentence():
    questions, answers = world([(p, [g]) for p, g, *_ in CASES])
    other = world([("Roma", ["Rome", "Roma"])], "musique")
    table = scoring_rules(pd.concat([questions, other[0]]), pd.concat([answers, other[1]]), "t")
    wide = compact(table).set_index("dataset")
    assert wide.loc["hotpotqa", ["n", "HotpotQA", "MuSiQue", "2Wiki"]].tolist() == [10, "own rule", "0 / 4", "0 / 0"]
    assert wide.loc["musique", ["HotpotQA", "MuSiQue"]].tolist() == ["1 / 1", "own rule"]
    assert rules_answer(table) == ("Of 10 answers to hotpotqa, MuSiQue's script changes most: EM of 0, F1 of 4. "
                                   "Of 1 answers to musique, HotpotQA's script changes most: EM of 1, F1 of 1.")
    assert "no other script changes a score" in rules_answer(scoring_rules(*world([("Rome", ["Rome"])]), "t"))
