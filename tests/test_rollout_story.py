"""The worked release on the sample's own lists, the told slices, the policy adapter, and the figures on one and three data sets."""

import json

import pandas as pd
import pytest

from lib import figures_rollout as board
from lib import figures_rollout_fates as drawn
from lib import policy_chunks, rollout_canary, rollout_split, rollout_words, tables, viability_sets
from lib import rollout_policy as policy
from lib import rollout_slices as slices
from lib import rollout_story as story
from lib import rollout_subject as subject
from lib.charts import NothingToDraw
from lib.cross_encoder import cross_encoder_group
from lib.declarations_rollout import ROLLOUT
from lib.latency_times import read_times, single
from lib.policy_filters import RULES
from lib.rerankers import Pointwise
from lib.rerankers_asked import asked
from lib.rollout_parameters import read_parameters
from lib.rollout_replay import replays
from lib.rollout_rows import paired_outcomes
from lib.viability_slices import no_slices

PARAMETERS = read_parameters()
FAST = 200


@pytest.fixture(scope="module")
def sample():
    try:
        questions, gold, documents, rankings = tables.read_all("sample", "questions", "gold", "documents", "rankings")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    questions = questions.head(60)
    rankings = rankings[rankings["qid"].isin(set(questions["qid"])) & (rankings["scope"] == "pooled")]
    gold = gold[gold["qid"].isin(set(questions["qid"]))]
    fused = asked(rankings, questions, documents, [], ["hybrid", "dense"]).reranked
    return questions, gold, documents, pd.concat([rankings, fused], ignore_index=True)


@pytest.fixture(scope="module")
def told(sample):
    """The free rival taken through the whole story: hybrid candidates, then dense ones."""
    questions, gold, documents, lists = sample
    judged = viability_sets.judgements(gold[gold["grade"] > 0])
    member = pd.concat([viability_sets.membership(questions), slices.told_slices(questions, documents, gold)], ignore_index=True)
    sides = [story.side(lists, first, f"{first} + fusion", judged, member, PARAMETERS) for first in ("hybrid", "dense")]
    return questions, judged, member, sides


def test_the_story_of_the_samples_own_lists_fits_its_declarations(told, monkeypatch):
    questions, judged, member, (frozen, live) = told
    unit = story.fusion_unit(["bm25", "dense"])
    before, after = story.recorded(frozen, unit, PARAMETERS.places, questions, encoder="minilm")
    made = story.decided(frozen.rows, PARAMETERS, "sample", resamples=FAST)
    shares, moves = story.fated(before, after, judged, member, "sample", FAST)
    split = rollout_split.split(frozen.rows, live.rows, FAST).assign(tier="sample")
    looks = story.canaries(frozen.rows, member, PARAMETERS, "sample", [0.2, 1.0])
    found = {"release_gates": made.gates, "release_decisions": made.decisions, "release_residual": made.residual, "release_gains": made.gains,
             "release_fates": shares, "release_moves": moves, "release_split": split, "release_canary": looks}
    for name, table in found.items():
        monkeypatch.setitem(tables.TABLES, name, tables._declared(name, ROLLOUT[name]))
        assert len(tables.check(table, name))
    assert rollout_split.adds_up(split) and "text" not in before[0]["query"]
    for words in (rollout_words.decision_words(made.decisions), rollout_words.residual_words(made.residual), rollout_words.gains_words(made.gains),
                  rollout_words.split_words(split), rollout_words.canary_words(looks)):
        assert words and "nan" not in words and (words[0].isupper() or words[0] in "*-")
    board.gate_board(made.gates, made.decisions).to_dict()
    drawn.passage_fates(shares).to_dict()


def test_the_rows_shown_are_the_records_shown(told):
    questions, judged, _, (frozen, _) = told
    _, after = story.recorded(frozen, story.fusion_unit(["bm25", "dense"]), PARAMETERS.places, questions)
    rows = frozen.rows[frozen.rows["slice"] == "all"].set_index("qid")
    need = judged.groupby("qid")["doc_id"].agg(set)
    for record in after:
        assert rows.at[record["qid"], "shown_after"] == float(need[record["qid"]] <= set(record["shown"]))


def test_a_rollback_gives_the_earlier_records_back_and_names_the_third_system(told):
    questions, _, _, (frozen, _) = told
    old = story.fusion_unit(["bm25", "dense"], threshold=0.03)
    new = old._replace(name="shifted", model={"name": "shifted"}, reading=story.reading(activation="sigmoid", threshold=0.9))
    shifted = frozen.scored.assign(score=frozen.scored["score"] * 100)
    made = story.rollback(frozen.first, old, new, {old.scorer: frozen.scored, new.scorer: shifted}, PARAMETERS.places, questions)
    assert made.same and made.back.active == old and "bit for bit" in rollout_words.rollback_words(made)
    by = made.thirds.set_index("restored")
    assert by.at["model + preprocessing + reading", "other_shown"] == 0 and by.at["model + preprocessing + reading", "registered"]
    assert by.at["model", "nothing_shown"] == len(questions)  # 0.06 read by a sigmoid never reaches 0.9: the old model's passages all vanish
    assert "none at all in" in rollout_words.rollback_words(made)
    assert made.seal == story.rollback(frozen.first, old, new, {old.scorer: frozen.scored, new.scorer: shifted}, PARAMETERS.places, questions).seal


def test_a_mixture_that_nobody_scored_is_not_replayed(told):
    questions, _, _, (frozen, _) = told
    old = story.fusion_unit(["bm25", "dense"])
    new = old._replace(model={"name": "other"}, preprocessing={"max_length": 192})
    made = story.rollback(frozen.first, old, new, {old.scorer: frozen.scored, new.scorer: frozen.scored}, PARAMETERS.places, questions)
    unknown = made.thirds[~made.thirds["scored"]]
    assert unknown["restored"].tolist() == ["model", "preprocessing", "preprocessing + reading", "model + reading"] and unknown["other_shown"].isna().all()


def test_the_unit_of_a_card_holds_the_weights_hash_and_the_length(sample):
    unit = story.unit_of_card("reranker", cross_encoder_group({"model": "reranker"}))
    assert unit.model["revision"].startswith("sha256:") and unit.preprocessing["max_length"] == 192


def test_what_has_no_list_is_one_error(sample):
    with pytest.raises(ValueError, match="has no list 'hybrid . nothing'"):
        story.side(sample[3], "hybrid", "hybrid + nothing", sample[1], no_slices(), PARAMETERS)


def test_told_slices_by_hand():
    questions = pd.DataFrame({"dataset": "d", "qid": list("abcd"), "question": [
        "What does POL-104 say?", "Which lake, other than Ysha, is deep?", "Where was Oda Brink born?", "Which lake is deep?"]})
    documents = pd.DataFrame({"dataset": "d", "doc_id": list("wxyz"), "title": "", 
                              "text": ["Oda Brink was born here.", "A lake. " * 9, "A lake.", "A lake, too."]})
    gold = pd.DataFrame({"dataset": "d", "qid": list("ad"), "doc_id": ["w", "x"], "grade": 1})
    found = slices.told_slices(questions, documents, gold).groupby("slice")["qid"].agg(list).to_dict()
    assert found["identifier"] == ["a"] and found["instructions"] == ["b"] and found["rare_entities"] == ["c"] and found["long_documents"] == ["d"]


def test_paired_outcomes_asks_which_where_there_are_several():
    seen = pd.DataFrame({"dataset": "d", "qid": "q", "ranker": ["a", "a", "b", "b"], "packer": ["x", "y"] * 2, "f1": [0.1, 0.2, 0.3, 0.4]})
    assert paired_outcomes(seen, "a", "b", "f1", packer="y")[["baseline", "reranked"]].values.tolist() == [[0.2, 0.4]]
    for call, said in ((lambda: paired_outcomes(seen, "a", "b", "f1"), "several outcomes"), (lambda: paired_outcomes(seen, "a", "b", "em"), "no column 'em'")):
        with pytest.raises(ValueError, match=said):
            call()


# the policy assistant, on two documents by hand


DOCUMENTS = pd.DataFrame([
    {"doc_id": doc, "identifier": "HR-1", "title": "Leave", "source_type": kind, "authority": 3, "effective_from": "2024-01-01", "effective_to": None,
     "jurisdiction": "all", "entitlement": "all", "superseded_by": None, "archived": archived,
     "sections": [{"section_id": "s1", "heading": "Days", "kind": "body", "sentences": ["Staff have ten days.", "They end in May."]},
                  {"section_id": "s2", "heading": "Except", "kind": "appendix", "sentences": ["Night staff have twelve days."]}]}
    for doc, kind, archived in (("new", "policy", False), ("old", "policy", True), ("chat", "minutes", False))])
ASKED = pd.DataFrame([{"qid": "q1", "question": "How many days have night staff?", "slice": "exclusion", "asked_on": "2026-01-01", "jurisdiction": "all",
                       "entitlement": "staff", "acceptable_sources": ["policy"]}])
JUDGED = pd.DataFrame([{"qid": "q1", "doc_id": doc, "section_id": "s2", "sentences": [0, 0], "label": "bundle", "role": "exception",
                        "bundles": ["A"], "grade": 3}
                       for doc in ("new", "old")])


def test_a_filtered_policy_passage_is_told_as_filtered_with_its_rule():
    cut = policy_chunks.chunks(DOCUMENTS, "lineage")
    gold = policy.gold_chunks(JUDGED, cut)
    dropped = policy.dropped(cut, DOCUMENTS, ASKED)["policy", "q1"]
    of = dict(zip(cut["chunk_id"], cut["doc_id"]))
    assert {(of[c], rule) for c, rule in dropped.items()} == {("old", "archived"), ("chat", "source_type")}
    found = {"q1": cut.loc[cut["doc_id"] == "new", "chunk_id"].tolist()}
    text = dict(zip(cut["chunk_id"], cut["text"]))
    night = Pointwise("night", lambda pairs: [float("Night" in b) for _, b in pairs], lambda pairs: [0] * len(pairs))
    first, scores = policy.candidate_lists(found, text, ASKED, night)
    unit = story.FIRST._replace(model={"name": "night"}, reading=story.reading())
    records = replays(first, unit, 1, scores, dropped={("policy", "q1"): dropped}, rules=RULES)
    fates, _ = story.fated(replays(first, story.FIRST, 1, dropped={("policy", "q1"): dropped}, rules=RULES), records, gold, policy.membership(ASKED), "t", 50)
    after = fates[(fates["when"] == "after") & (fates["slice"] == "all") & (fates["passages"] > 0)].set_index("fate")["passages"].to_dict()
    assert after == {"promoted": 1, "filtered": 1, "seen": 1} and records[0]["filters"]["rules"] == list(RULES)
    json.dumps(records)


def test_a_span_that_every_cut_goes_through_was_never_retrieved():
    across = JUDGED.head(1).assign(section_id="s1", sentences=[[0, 1]])
    cut = policy_chunks.chunks(DOCUMENTS, "windows", words=5, overlap=0)
    assert policy.gold_chunks(across, cut)["doc_id"].tolist() == ["new/s1:0-1"]


def test_policy_outcomes_become_rows_and_other_pools_are_refused():
    outcomes = pd.DataFrame({"qid": ["a", "b"] * 2, "slice": "exclusion", "arm": ["plain"] * 2 + ["plain + reranker"] * 2, "pool_complete": [1.0, 0.0] * 2,
                             "complete": [0.0, 0.0, 1.0, 0.0], "coverage": [0.5, 0.5, 1.0, 0.5], "ceiling_coverage": [1.0, 0.5] * 2})
    rows = policy.outcome_rows(outcomes, "plain", "plain + reranker")
    assert rows[rows["slice"] == "all"][["in_pool", "repaired", "ordering_headroom", "realised_gain"]].values.tolist() == [[1, 1, 0.5, 0.5], [0, 0, 0, 0]]
    with pytest.raises(ValueError, match="other pools"):
        policy.outcome_rows(outcomes.assign(pool_complete=[1.0, 0.0, 1.0, 1.0]), "plain", "plain + reranker")
    with pytest.raises(ValueError, match="no outcome of arm 'x'"):
        policy.outcome_rows(outcomes, "x", "plain")


# figures


def test_figures_of_three_data_sets_name_each_and_an_empty_table_draws_nothing(told):
    questions, judged, member, (frozen, _) = told
    before, after = story.recorded(frozen, story.fusion_unit(["bm25", "dense"]), PARAMETERS.places, questions)
    made = story.decided(frozen.rows, PARAMETERS, "sample", resamples=50)
    shares, _ = story.fated(before, after, judged, member, "sample", 50)
    three = lambda t: pd.concat([t.assign(dataset=d) for d in ("hotpotqa", "musique", "twowiki")], ignore_index=True)
    assert "HotpotQA" in json.dumps(board.gate_board(three(made.gates), three(made.decisions)).to_dict())
    assert "HotpotQA" in json.dumps(drawn.passage_fates(three(shares)).to_dict())
    with pytest.raises(NothingToDraw):
        board.gate_board(made.gates.head(0), made.decisions.head(0))
    with pytest.raises(NothingToDraw):
        drawn.passage_fates(shares.assign(n=0))


def test_the_board_says_every_verdict_in_words(told):
    *_, (frozen, _) = told
    made = story.decided(frozen.rows, PARAMETERS, "sample", resamples=50)
    cells = board._cells(made.gates)
    assert len(cells) == len(made.gates) and not cells["word"].str.contains("nan").any() and not cells["number"].str.contains("nan").any()
    word = {"pass": "pass", "fail": "FAIL"}
    assert all(w == word[v] if v in word else w.startswith(("needs", "over", "not measured")) for w, v in zip(cells["word"], cells["verdict"]))


def test_a_gate_measured_nowhere_has_no_column_and_is_named(told):
    *_, (frozen, _) = told
    made = story.decided(frozen.rows, PARAMETERS, "sample", resamples=50)
    spec = board.gate_board(made.gates, made.decisions).to_dict()
    heads = [row["name"] for rows in spec["datasets"].values() for row in rows if row.keys() == {"at", "name", "y"}]
    assert heads == ["evidence in pool", "headroom", "capture", "evidence lost"]
    assert "p95 latency and downstream" in " ".join(spec["title"]["subtitle"])
    timed = story.decided(frozen.rows, PARAMETERS, "sample", pd.DataFrame({"seconds": [1.0] * 60}), resamples=50)
    assert "p95 latency" not in " ".join(board.gate_board(timed.gates, timed.decisions).to_dict()["title"]["subtitle"])
    said = rollout_words.decision_words(made.decisions, made.gates)
    assert "Not measured: p95 latency, downstream effect; questions needed are those of the other gates." in said
    assert "Not measured: downstream effect;" in rollout_words.decision_words(timed.decisions, timed.gates)


def test_a_gate_not_measured_in_one_slice_alone_is_named_there():
    gates = pd.DataFrame([("d", s, g, int(g != "capture" or s != "a")) for s in ("a", "b", "all") for g in rollout_words.GATES],
                         columns=["dataset", "slice", "gate", "n"])
    rows = pd.DataFrame({"dataset": "d", "slice": ["a", "b", "all"], "decision": "not enough evidence", "failed": "", "needed": 30.0, "n": [1, 5, 6]})
    said = rollout_words.decision_words(rows, gates)
    assert "a (1, 30 questions needed; not measured: capture) and b (5, 30 questions needed)" in said and "Not measured" not in said


def test_the_fates_of_the_largest_slices_are_drawn_and_the_others_counted(told):
    names = ["all", *"abcdefg"]
    rows = pd.concat([pd.DataFrame({"dataset": "d", "slice": s, "when": w, "fate": ["shown", "promoted", "demoted", "seen"], "estimate": [0.4, 0.3, 0.3, 0.7],
                                    "ci_low": 0.3, "ci_high": 0.8, "passages": [4, 3, 3, 7], "n": 20 - i}) for i, s in enumerate(names)
                      for w in ("before", "after")], ignore_index=True)
    spec = drawn.passage_fates(rows, "sample").to_dict()
    titles = [row["name"] for d in spec["datasets"].values() for row in d if row.keys() == {"y", "name"}]
    assert titles == [*"abcde", "all questions"] and "not drawn: 2 (table release_fates)" in " ".join(spec["title"]["subtitle"])
    labels = {row["label"] for d in spec["datasets"].values() for row in d if "label" in row}
    assert labels == {"4", "+3", "−3"}
    shade = {fate: sum(w * int(c[i : i + 2], 16) for w, i in ((0.299, 1), (0.587, 3), (0.114, 5))) for fate, c in drawn.FILLS.items()}
    assert shade["promoted"] - shade["demoted"] > 60 and shade["low" if "low" in shade else "left low"] - shade["demoted"] > 60


# a run without gold, without a reranked list, of one question


def tiny(n, gold, rankers=("hybrid", "bm25", "dense")):
    questions = pd.DataFrame({"dataset": "own", "qid": [f"q{i}" for i in range(n)], "question_type": "",
                              "question": ["What does POL-104 say?", "Which lake, other than Ysha, is deep?"][:n] * max(1, n // 2)})
    documents = pd.DataFrame({"dataset": "own", "doc_id": [f"d{j}" for j in range(8)], "title": "", "text": ["word " * (j + 1) for j in range(8)]})
    relevant = pd.DataFrame([("own", f"q{i}", f"d{i % 8}", 1) for i in range(n if gold else 0)], columns=["dataset", "qid", "doc_id", "grade"])
    rows = [("own", f"q{i}", "pooled", r, k + 1, f"d{(3 * i + k * (1 + 2 * s)) % 8}", 8.0 - k)
            for i in range(n) for s, r in enumerate(rankers) for k in range(8)]
    rankings = pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])
    return questions, relevant, documents, pd.concat([rankings, viability_sets.fused(rankings, ["hybrid"], "pooled", 8)], ignore_index=True)


@pytest.mark.parametrize(("n", "gold", "rankers", "why"), [
    (8, False, ("hybrid", "bm25", "dense"), "you gave no gold"), (1, False, ("hybrid",), "you gave no gold"), (1, True, ("hybrid", "bm25", "dense"), ""),
    (8, True, ("hybrid",), "no list is reranked"), (8, True, ("hybrid", "bm25", "dense"), "")])
def test_a_release_runs_through_whatever_is_given_and_says_why_it_says_nothing(n, gold, rankers, why):
    questions, gold, documents, lists = tiny(n, gold, rankers)
    judged = viability_sets.judgements(gold)
    again = viability_sets.main_list(lists, judged, "hybrid")
    member = pd.concat([viability_sets.membership(questions), slices.told_slices(questions, documents, gold)], ignore_index=True)
    frozen = story.side(lists, "hybrid", again, judged, member, PARAMETERS)
    unit = subject.unit_of(again, {"method": "cross_encoder", "model": "reranker"}, lists)
    made = story.decided(frozen.rows, PARAMETERS, "own", subject.seconds_of(unit, read_times(), 50), resamples=FAST)
    before, after = story.recorded(frozen, unit, PARAMETERS.places, questions)
    shares, moves = story.fated(before, after, judged, member, "own", FAST)
    looks = story.canaries(frozen.rows, member, PARAMETERS, "own", [0.1, 1.0])
    live = story.side(lists, *subject.beside(again, ["hybrid"], lists), judged, member, PARAMETERS)
    split = rollout_split.split(frozen.rows, live.rows, FAST).assign(tier="own")
    found = {"release_gates": made.gates, "release_decisions": made.decisions, "release_residual": made.residual, "release_gains": made.gains,
             "release_fates": shares, "release_moves": moves, "release_split": split, "release_canary": looks}
    for name, table in found.items():
        tables.check(table, name)
        joined = pd.concat([table, table.head(0)])
        assert (joined.dtypes == table.dtypes).all() and (table.drop(columns=["tier"]).select_dtypes("number").shape[1] > 0 or name == "release_decisions")
        assert bool(len(table)) == (len(gold) > 0 and (not why or name in ("release_fates", "release_moves")))
    assert frozen.why == why and rollout_split.adds_up(split) and len(rollout_canary.last_looks(looks)) == looks["slice"].nunique()
    assert rollout_canary.frozen(before, after) == 0 or not why
    said = rollout_words.decision_words(made.decisions, made.gates, frozen.why)
    assert (f"since {why}:" in said) if why else "not enough evidence" in said
    words = [said, rollout_words.residual_words(made.residual), rollout_words.gains_words(made.gains), rollout_words.split_words(split),
             rollout_words.canary_words(looks)]
    assert not any("nan" in w for w in words) and " 1 questions" not in " ".join(words)
    for picture in (board.board_or_note(made.gates, made.decisions, "own", frozen.why), drawn.fates_or_note(shares, "own", frozen.why)):
        assert (why in picture.to_json()) if why == "you gave no gold" else picture.to_dict()
    free = lists[lists["ranker"] == "hybrid + fusion"]
    old, new = story.fusion_unit(["bm25", "dense"], threshold=0.03), unit._replace(reading=story.reading(activation="sigmoid", threshold=0.1))
    back = story.rollback(frozen.first, old, new, {old.scorer: free, new.scorer: frozen.scored}, PARAMETERS.places, questions)
    assert back.same and back.back.active == (old if len(free) else story.FIRST)
    assert ("No list could be fused" in rollout_words.rollback_words(back)) == (len(free) == 0)


def test_seconds_are_those_of_the_model_that_was_timed_or_none():
    times = read_times()
    timed = subject.unit_of("hybrid + reranker", {"method": "cross_encoder", "model": "reranker"}, pd.DataFrame({"scope": [], "ranker": []}))
    assert subject.seconds_of(timed, times, 50)["seconds"].tolist() == single(times, 50).tolist()
    for other in (story.FIRST, story.fusion_unit(["bm25"]), timed._replace(model={**timed.model, "revision": "sha256:0"}),
                  timed._replace(model={**timed.model, "model": "small"})):
        assert subject.seconds_of(other, times, 50) is None


def test_a_run_without_a_reranked_list_is_about_the_first_stage_itself():
    lists = tiny(2, True)[3]
    assert subject.unit_of("none", None, lists) == story.FIRST
    assert [subject.beside("none", firsts, lists) for firsts in (["hybrid", "dense"], ["hybrid"])] == [("dense", "none"), ("hybrid", "none")]
