"""Rerankers, depths, queues and probes that are given what cannot be meant: one clear error, never a number."""

import gzip
import json
import math

import numpy as np
import pandas as pd
import pytest

from lib import (
    depth_corpus,
    depth_cost,
    depth_sets,
    latency,
    latency_table,
    latency_times,
    probes,
    probes_scores,
    record_rerankers,
    record_times,
)
from lib.depth import checked_depths, depth_rows
from lib.depth_scores import COLUMNS, read_scores
from lib.depth_scores import main as score
from lib.probes import Case, Instruction
from lib.rerankers import Reranked, checked
from lib.rerankers_asked import asked, tasks_of
from lib.rerankers_cascade import Cascade
from lib.rerankers_feedback import rm3, rocchio
from lib.rerankers_judge import regenerate
from lib.rerankers_lists import first_lists
from lib.rerankers_open import check_spec
from lib.rerankers_reply import parse


class Fixed:
    """A reranker that answers every list alike."""

    name = "fixed"

    def __init__(self, order=None, scores=None):
        self.given, self.scores = order, scores

    def rerank(self, question, passages):
        n = len(passages)
        return Reranked(list(range(n)) if self.given is None else self.given, [0.0] * n if self.scores is None else self.scores, n, 0, 0)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (Reranked([0, "1"], [0.0, 0.0], 0, 0, 0), "whole numbers from 0 to 1, got '1'"),
        (Reranked([0.0, 1.0], [0.0, 0.0], 0, 0, 0), "got 0.0"),
        (Reranked([True, 0], [0.0, 0.0], 0, 0, 0), "got True"),
        (Reranked([0, 1], [0.0, math.inf], 0, 0, 0), "finite numbers or NaN, got inf"),
        (Reranked([0, 1], [0.0, None], 0, 0, 0), "finite numbers or NaN, got None"),
        (Reranked([0, 1], [0.0, 0.0], math.nan, 0, 0), "count from 0"),
    ],
)
def test_an_answer_that_is_no_order_of_scored_passages(made, said):
    with pytest.raises(ValueError, match=said):
        checked(made, 2)


def test_numbers_of_numpy_and_missing_scores_are_an_answer():
    made = Reranked([np.int64(1), 0], [np.float32("nan"), np.float64(1)], 1, 2, 0)
    assert checked(made, 2) is made


@pytest.mark.parametrize("text", [None, math.nan, "", "\n2 > 1", "no", "1" * 5000, "[0] > [-1] > [99]", "\u0662 > \u0661"])
def test_garbage_of_a_listwise_model_is_repaired_to_a_permutation_and_counted(text):
    found, repaired = parse(text, 2)
    assert found == [0, 1] and repaired


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"method": ["yes_no"], "model": "smollm2-135m"}, "a reranker is a block"),
        ({"method": "listwise", "model": "smollm2-135m", "window": 1}, "window must be a whole number"),
        ({"method": "listwise", "model": "smollm2-135m", "window": 4, "stride": 5}, "stride must be"),
        ({"method": "pairwise", "model": "smollm2-135m", "top": -1}, "top must be"),
        ({"method": "pairwise", "model": "smollm2-135m", "sort": "heap"}, "sort must be one of"),
        ({"method": "yes_no", "model": "smollm2-135m", "name": 5}, "name must be a text, got 5"),
    ],
)
def test_a_specification_is_checked_before_anything_is_opened(spec, said):
    with pytest.raises(ValueError, match=said):
        check_spec(spec)


@pytest.mark.parametrize(
    ("reranker", "language_models", "said"),
    [
        (None, False, "reranker must be a block.*got None"),
        ("reranker", False, "reranker must be a block"),
        ({"method": "cross_encoder", "model": "reranker", "questions": -5}, False, "the reranker's questions must be a whole number of 0 or more"),
        ({}, "no", "language_models must be true or false"),
    ],
)
def test_the_reranker_of_a_tier_that_is_none(reranker, language_models, said):
    with pytest.raises(ValueError, match=said):
        tasks_of(reranker, ["hybrid"], 50, language_models)


@pytest.mark.parametrize(("feedback", "said"), [({"rochio": "minilm"}, "block of rocchio, rm3.*'rochio'"), (["rm3"], "block of"), ({"rm3": "dense"}, "rm3 asks bm25")])
def test_feedback_that_is_none(feedback, said):
    nothing = pd.DataFrame(columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])
    with pytest.raises(ValueError, match=said):
        asked(nothing, nothing, nothing, [], ["hybrid"], feedback)


def test_feedback_from_scores_or_places_that_cannot_be():
    with pytest.raises(ValueError, match="finite numbers, got inf"):
        rm3(["eel"], [["eel"]], [math.inf])
    with pytest.raises(ValueError, match="first names document 7, there are 2"):
        rocchio(np.ones(2), np.eye(2), [7])
    with pytest.raises(ValueError, match="signal must be a function"):
        Cascade(Fixed(), Fixed(), signal=5)


@pytest.mark.parametrize("table", ["questions", "documents"])
def test_a_text_that_stands_twice_is_named(table):
    lists = pd.DataFrame({"dataset": "d", "qid": "q", "scope": "pooled", "ranker": "hybrid", "rank": [1], "doc_id": ["a"], "score": [1.0]})
    held = {"questions": pd.DataFrame({"dataset": ["d"], "qid": ["q"], "question": ["Who?"]}),
            "documents": pd.DataFrame({"dataset": ["d"], "doc_id": ["a"], "title": ["T"], "text": ["eel"]})}
    held[table] = pd.concat([held[table]] * 2)
    with pytest.raises(ValueError, match=f"table {table} holds .* twice"):
        list(first_lists(lists, held["questions"], held["documents"], "hybrid", "pooled"))


# ---- depth


@pytest.mark.parametrize("depths", ["20", ["x"], [math.nan], [math.inf], [None], 20, [True]])
def test_depths_that_are_none(depths):
    with pytest.raises(ValueError, match="distinct whole numbers"):
        checked_depths(depths)


def test_a_depth_beyond_every_list_needs_no_room_and_equals_the_longest():
    lists = pd.DataFrame({"dataset": "d", "qid": "q", "rank": [1, 2], "score": [0.1, 0.9], "grade": [0.0, 1.0]})
    gold = pd.DataFrame({"dataset": ["d"], "qid": ["q"], "grade": [1.0]})
    made = depth_rows(lists, gold, pd.DataFrame({"dataset": ["d"], "qid": ["q"], "slice": ["s"], "half": [0]}), [2, 10**12], m=1)
    assert made["realised"].tolist() == [1, 1] and made["base"].tolist() == [0, 0] and made["exhausted"].tolist() == [False, True]
    with pytest.raises(ValueError, match="judged twice"):
        depth_rows(lists, pd.concat([gold.assign(doc_id="b")] * 2), made[["dataset", "qid", "slice", "half"]].head(1), [2], m=1)
    with pytest.raises(ValueError, match="cutoff one from 1"):
        checked_depths([5], 10**9)


@pytest.mark.parametrize("prices", [[], None, {"pairs": "0.02"}, {"pairs": math.nan}, {"pairs": math.inf}])
def test_prices_that_are_none(prices):
    with pytest.raises(ValueError, match="prices"):
        depth_cost.priced(pd.DataFrame({"pairs": [1]}), prices)


def test_patterns_and_depths_of_a_study_that_are_none(tmp_path):
    for pattern in (str(tmp_path / "*.csv"), None, ["a.csv"]):
        with pytest.raises(ValueError, match="deep_scores must be a pattern"):
            depth_sets.of_files(pattern, tmp_path)
    study = depth_sets.Study("bm25", "reranker", pd.DataFrame({"rank": [1]}), None, None)
    for depths in ([], "20", None, ["x"], [0], [2.5]):
        with pytest.raises(ValueError, match="depths must be whole numbers"):
            depth_sets.reached(study, depths)


SCORES = [("d", "q", "s", 0, 1, 0.5, 1, 20, 1), ("d", "q", "s", 0, 2, 0.25, None, 20, 1)]


def scores_file(tmp_path, change=lambda rows: rows, name="s.csv"):
    path = tmp_path / name
    change(pd.DataFrame(SCORES, columns=COLUMNS).astype(object)).to_csv(path, index=False)
    return path


def put_in(column, value):
    def change(rows):
        rows.loc[1, column] = value
        return rows

    return change


@pytest.mark.parametrize(
    ("column", "value"),
    [("rank", "x"), ("rank", 0), ("rank", None), ("score", "high"), ("score", "inf"), ("n_gold", None), ("n_gold", 3), ("n_gold", -1), ("half", 2), ("qid", None),
     ("tokens", -4), ("grade", "good")],
)
def test_a_row_of_deep_scores_that_cannot_be_is_named(tmp_path, column, value):
    with pytest.raises(ValueError, match="s.csv, line [23]: .*cannot be.*depth_scores"):
        read_scores(scores_file(tmp_path, put_in(column, value)))


def test_more_relevant_candidates_than_a_question_has_cannot_be(tmp_path):
    with pytest.raises(ValueError, match="line 2: .*n_gold counts its relevant"):
        read_scores(scores_file(tmp_path, put_in("grade", 1)))


def test_a_damaged_file_of_deep_scores_is_named(tmp_path):
    lists, gold, questions = read_scores(scores_file(tmp_path))
    assert len(lists) == 2 and gold["grade"].tolist() == [1.0] and questions["half"].tolist() == [0]
    whole = gzip.compress(scores_file(tmp_path).read_bytes())
    for name, content in (("cut.csv.gz", whole[:-9]), ("no.csv.gz", b"dataset"), ("empty.csv", b""), ("latin.csv", b"dataset\n\xe9\xff\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}.*depth_scores"):
            read_scores(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="folder.csv"):
        read_scores(tmp_path / "folder.csv")


@pytest.mark.parametrize("options", [["--world", "-1"], ["--world", "2", "--depth", "0"], ["--world", "2", "--first", "-1"]])
def test_numbers_of_the_scoring_command_that_are_none(options, capsys):
    assert score([*options, "--count"]) == 1 and "must be a whole number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("corpus", "question", "supporting", "said"),
    [
        ({"title": 5}, {}, {}, "field title: is '5'"),
        ({}, {"id": 7}, {}, "field _id: is '7'"),
        ({}, {}, {"supporting_facts": None}, "field supporting_facts: is 'None'"),
        ({}, {}, {"supporting_facts": ["T"]}, "field supporting_facts"),
        ({}, {}, {"_id": ["q"]}, "field _id"),
    ],
)
def test_a_corpus_file_that_cannot_be_meant_is_named(tmp_path, corpus, question, supporting, said):
    rows = {"c": {"title": "T", "text": "eel"} | corpus, "q": {"id": "q", "question": "Who?"} | question,
            "s": {"_id": "q", "type": "t", "supporting_facts": [["T", 0]]} | supporting}
    for name, row in rows.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row))
    with pytest.raises(ValueError, match=said):
        depth_corpus.read_corpus(*(tmp_path / f"{name}.jsonl" for name in rows), dataset="d")


# ---- queues and service times


@pytest.mark.parametrize(
    ("arrivals", "options", "said"),
    [
        ([0.0, math.nan], {}, "arrivals are seconds"),
        ([-1.0, 0.0], {}, "arrivals are seconds from 0 on, got -1"),
        ([0.0, math.inf], {}, "arrivals are seconds"),
        ([0.0, 1.0], {"servers": 1.5}, "servers and max_batch"),
        ([0.0, 1.0], {"max_wait": math.inf}, "max_wait"),
        ([0.0, 1.0], {"give_up": math.nan}, "give_up"),
    ],
)
def test_a_queue_that_cannot_be(arrivals, options, said):
    with pytest.raises(ValueError, match=said):
        latency.simulate(arrivals, [1.0, 1.0], **options)


@pytest.mark.parametrize("seconds", [-1.0, 0.0, math.nan, math.inf])
def test_a_batch_that_takes_no_time_is_refused(seconds):
    with pytest.raises(ValueError, match="positive number of seconds"):
        latency.simulate([0.0, 1.0], lambda first, last: seconds, max_batch=2)


def test_no_request_is_no_arrival_and_closed_forms_ask_for_numbers():
    assert [len(draw(1.0, 0, 0)) for draw in (latency.poisson, latency.bursts, latency.on_off)] == [0, 0, 0]
    for draw in (latency.poisson, latency.bursts, latency.on_off):
        with pytest.raises(ValueError, match="number of requests"):
            draw(1.0, -1, 0)
    for rate, service in ((-1, 1), (math.nan, 0.1), (1, -0.1)):
        with pytest.raises(ValueError, match="numbers of 0 or more"):
            latency.mm1_wait(rate, service)
    with pytest.raises(ValueError, match="share of a quantile"):
        latency.mm1_quantile(0.5, 1.0, 1.0)


def told(**about):
    columns = list(latency_times.COLUMNS)
    return {"about": {"model": "m"} | about, "columns": columns, "rows": [[5, 1, 0, 0.1, 0.1, 5, 100, 1.0], [5, 1, 1, 0.2, 0.2, 5, 100, 1.0]]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loads": ["0.5"]}, "a load lies"),
        ({"loads": [math.nan]}, "a load lies"),
        ({"requests": 0}, "requests must be a whole number of 1 or more"),
        ({"runs": 0}, "runs must be"),
        ({"servers": 0}, "servers must be"),
        ({"timeout": math.nan}, "timeout is a positive number"),
        ({"timeout": "2"}, "timeout is a positive number"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_a_load_that_cannot_be(tmp_path, options, said):
    (tmp_path / "t.json").write_text(json.dumps(told()))
    with pytest.raises(ValueError, match=said):
        latency_table.latency_table(latency_times.read_times(tmp_path / "t.json"), "s", "m", [5], **options)


@pytest.mark.parametrize(
    ("place", "value"),
    [((0, 3), math.inf), ((0, 3), -0.1), ((0, 3), math.nan), ((0, 0), 0), ((0, 0), 5.5), ((0, 1), 0), ((0, 5), 0), ((0, 3), 10**400), ("about", {}), ("about", []),
     ("rows", [])],
)
def test_service_times_that_cannot_be(tmp_path, place, value):
    made = told()
    if isinstance(place, str):
        made[place] = value
    else:
        made["rows"][place[0]][place[1]] = value
    (tmp_path / "t.json").write_text(json.dumps(made))
    with pytest.raises(ValueError, match="service times: t.json.*record_times"):
        latency_times.read_times(tmp_path / "t.json")


def test_a_folder_in_the_place_of_service_times(tmp_path):
    with pytest.raises(ValueError, match="service times: .*record_times"):
        latency_times.read_times(tmp_path)


@pytest.mark.parametrize("options", [{"together": [0]}, {"together": [-2]}, {"calls": 0}, {"pairs": -1}])
def test_calls_to_time_that_are_none(options):
    with pytest.raises(ValueError, match="must be a whole number of 1 or more"):
        record_times.measure(None, [[("q", "p")] * 5] * 3, [5], **options)


@pytest.mark.parametrize("options", [["--live", "0"], ["--questions", "-3"]])
def test_numbers_of_the_recording_command_that_are_none(options, capsys):
    assert record_rerankers.main(options) == 1 and "must be a whole number" in capsys.readouterr().err


def test_no_prompt_asked_again_is_no_agreement():
    with pytest.raises(ValueError, match="n must be a whole number of 1 or more"):
        regenerate(None, (" yes", " no"), ["p"], 0)


# ---- probes


CASES = [Case(f"q{i}", "Who?", ["a", "b", "c"], [1, 0, 0]) for i in range(3)]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (Case("q", "Who?", ["a", "b"], [1]), "each of 2 passages needs one grade"),
        (Case("q", "Who?", ["a", "b"], [1, math.nan]), "needs one grade, a number"),
        (Case("q", "Who?", ["a", "b"], [1, 0], instruction=Instruction("Who, in 1934?", 0, 5)), "names two of 2 passages by place.*0 and 5"),
        (Case("q", "Who?", ["a", "b"], [1, 0], instruction=Instruction("Who, in 1934?", 1, 1)), "names two of 2 passages"),
    ],
)
def test_a_case_that_cannot_be(case, said):
    with pytest.raises(ValueError, match=f"case 'q': .*{said}"):
        probes.probe(Fixed(), [case], resamples=20)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"m": 2.5}, "m is at least 1"), ({"compared": 0}, "compared must be"), ({"thresholds": {"shuffle": "low"}}, "thresholds"), ({"thresholds": {"shuffle": math.nan}}, "thresholds")],
)
def test_settings_of_probes_that_cannot_be(options, said):
    with pytest.raises(ValueError, match=said):
        probes.probe(Fixed(), CASES, resamples=20, **options)


def test_answers_that_no_probe_can_read():
    for scores in ([math.inf, 0.0, 0.0], [0.0]):
        with pytest.raises(ValueError, match="one score, finite or NaN"):
            probes.probe(Fixed(scores=scores), CASES, only=("repeat",), resamples=20)
    with pytest.raises(ValueError, match="must name each place once"):
        probes.probe(Fixed(order=[0.0, 1.0, 2.0]), CASES, only=("repeat",), resamples=20)


def test_no_case_and_all_tied_are_rows_without_a_number_or_with_the_right_one():
    nothing = probes.probe(Fixed(), [], resamples=20)
    assert set(nothing["verdict"]) == {"not applicable"} and nothing["n"].sum() == 0 and nothing["value"].isna().all()
    tied = probes.probe(Fixed(), CASES, m=1, only=("omitted_answer", "repeat", "already_correct"), resamples=20).set_index("probe")
    assert tied.loc["omitted_answer", "verdict"] == "not applicable" and tied.loc["repeat", "value"] == tied.loc["already_correct", "value"] == 0


def test_scores_without_a_resample_have_no_p():
    with pytest.raises(ValueError, match="resamples must be a whole number of 1 or more"):
        probes_scores.table_of(pd.DataFrame(columns=["dataset", "qid", "slice", "half", "score", "grade"]), "s", "r", "x", resamples=-5)
