"""The dials redundancy, position and paraphrase of a generated world: each changes what it says and nothing else, and the truth stays true."""
import hashlib
import itertools

import numpy as np
import pandas as pd
import pytest
from test_worlds import REAL, SMALL

from lib import scoring
from lib.text import normalise_answer
from lib.worlds import POOL_SIZE, world, world_name
from lib.worlds_graph import build, stems
from lib.worlds_kinds import TAKEN
from lib.worlds_text import called


def told_facts(text, w, thing):
    """Names and answers of a thing's four facts that stand in its text."""
    return {v for v in [*(w.names[t] for t in w.target[thing]), *w.leaves[thing]] if v.removeprefix("the ") in text}


@pytest.fixture(scope="module")
def redundant():
    """redundancy -> a world of 150 questions."""
    return {r: world(150, 2, 0.5, redundancy=r, dataset="world", **SMALL) for r in (0, 0.25, 0.5, 1)}


def test_at_rest_the_new_dials_change_nothing(redundant):
    bare = world(150, 2, 0.5, dataset="world", **SMALL)
    for name, table in redundant[0].items():
        pd.testing.assert_frame_equal(table, bare[name])
    assert len(bare["retold"]) == 0 and world_name(2, 0.5) == "world_h2_s50"


@pytest.mark.parametrize("share, given", [(0.25, 2), (0.5, 4), (1, 7)])
def test_redundancy_replaces_so_many_distractors_by_retellings_of_others_and_never_touches_gold(redundant, share, given):
    less, made = redundant[0], redundant[share]
    for name in ("questions", "gold", "truth"):
        pd.testing.assert_frame_equal(less[name], made[name])
    old = made["documents"][~made["documents"]["doc_id"].isin(made["retold"]["doc_id"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(less["documents"], old)
    of = dict(zip(made["retold"]["doc_id"], made["retold"]["of"]))
    assert set(made["documents"]["doc_id"]) - set(old["doc_id"]) == set(of)
    before, after = (t["pools"].groupby("qid")["doc_id"].agg(list) for t in (less, made))
    gold = made["gold"].groupby("qid")["doc_id"].agg(set)
    for q in after.index:
        again = [d for d in after[q] if d in of]
        assert len(again) == given and len(set(after[q])) == POOL_SIZE and gold[q] <= set(after[q])
        assert {of[d] for d in again} <= (set(after[q]) - set(again) - gold[q]) and set(after[q]) - set(again) <= set(before[q])


def test_more_redundancy_keeps_what_less_had_replaced(redundant):
    kept = [t["pools"][~t["pools"]["doc_id"].str.contains("r")].groupby("qid")["doc_id"].agg(set) for t in redundant.values()]
    assert all(more[q] <= fewer[q] for fewer, more in itertools.pairwise(kept) for q in fewer.index)


def test_a_retelling_tells_the_same_facts_in_other_words_and_opens_as_its_passage_does(redundant):
    w, made = build(SMALL["seed"], SMALL["documents"]), redundant[0.5]
    thing, documents = {d: i for i, d in enumerate(w.ids)}, made["documents"].set_index("doc_id")
    texts, starts = documents["text"], documents["sentences"]
    same = []
    for r in made["retold"].head(150).itertuples():
        t = thing[r.of]
        assert told_facts(texts[r.doc_id], w, t) == told_facts(texts[r.of], w, t) and len(told_facts(texts[r.of], w, t)) == 4
        first, again = (texts[d][:starts[d][0][1]] for d in (r.of, r.doc_id))
        assert (called(w, t) in first) == (called(w, t) in again) and w.names[t].removeprefix("the ") in again
        same.append(len(set(texts[r.of].split(". ")) & set(texts[r.doc_id].split(". "))))
    assert np.mean(same) < 1  # of four or five sentences hardly one comes back word for word


def test_an_answer_stands_in_its_passage_and_in_no_other_of_its_pool_and_beyond_it_only_in_retellings(redundant):
    made = redundant[1]
    texts = dict(zip(made["documents"]["doc_id"], (f" {normalise_answer(t)} " for t in made["documents"]["text"])))
    of, last = dict(zip(made["retold"]["doc_id"], made["retold"]["of"])), made["truth"].query("holds_answer").set_index("qid")["doc_id"]
    answers, pools = dict(zip(made["questions"]["qid"], made["questions"]["answers"])), made["pools"].groupby("qid")["doc_id"].agg(list)
    for q in last.index:
        found = {d for d, text in texts.items() if f" {normalise_answer(answers[q][0])} " in text}
        assert {of.get(d, d) for d in found} == {last[q]} and found & set(pools[q]) == {last[q]}


@pytest.mark.parametrize("position", ["early", "middle", "late"])
def test_position_moves_both_answers_among_the_links_and_tells_the_same(position):
    w = build(SMALL["seed"], SMALL["documents"])
    drawn, moved = (world(60, 2, 0.5, position=p, dataset="world", **SMALL) for p in ("drawn", position))
    for name in ("questions", "gold", "pools"):
        pd.testing.assert_frame_equal(drawn[name], moved[name])
    places = []
    before, after = (t["documents"].set_index("doc_id")["text"] for t in (drawn, moved))
    for thing, (a, b) in enumerate(zip(before[w.ids], after[w.ids])):
        assert told_facts(a, w, thing) == told_facts(b, w, thing)
        links, answers = ([b.index(v.removeprefix("the ")) for v in vs] for vs in ([w.names[t] for t in w.target[thing]], w.leaves[thing]))
        places.append({"early": max(answers) < min(links), "late": min(answers) > max(links),
                       "middle": min(links) < min(answers) and max(answers) < max(links)}[position])
    assert np.mean(places) > 0.95  # the name of a link's target may be that of the subject's kin, found earlier


def test_paraphrase_only_takes_facts_out_of_the_questions_words():
    plain, some, other = (world(60, 2, 0.5, paraphrase=p, dataset="world", **SMALL) for p in (0, 0.5, 1))
    for name in ("questions", "gold", "pools"):
        pd.testing.assert_frame_equal(plain[name], other[name])
    wordings = ("was founded by|been founded by", "was set up by|owed its existence")
    counts = [[t["documents"]["text"].str.contains(said).sum() for t in (plain, some, other)] for said in wordings]
    assert counts[0][0] == 50 == counts[1][2] and counts[0][2] == 0 == counts[1][0] and counts[0][1] + counts[1][1] == 50
    pd.testing.assert_frame_equal(some["documents"], world(60, 2, 0.5, dataset="world", **SMALL)["documents"])


def test_the_same_seed_retells_the_same():
    made = world(40, 3, 0.3, redundancy=0.5, position="late", paraphrase=0.25, **SMALL)
    # golden: 'from lib.worlds import world; w = world(40, 3, 0.3, redundancy=0.5, position="late", paraphrase=0.25, seed=3, documents=300)'
    assert hashlib.sha256("\n".join(made["documents"]["text"]).encode()).hexdigest().startswith("321ed3606fe9")
    assert made["questions"]["dataset"][0] == "world_h3_s30_r50_late_p25" and scoring.rule_for("world_h3_s30_r50_late_p25") == "ondrell"


def test_more_questions_leave_earlier_pools_and_retellings_as_they_are():
    few, many = (world(n, redundancy=1, dataset="world", **SMALL) for n in (20, 60))
    pd.testing.assert_frame_equal(few["pools"], many["pools"].head(len(few["pools"])))
    assert set(map(tuple, few["documents"][["doc_id", "text"]].to_numpy())) <= set(map(tuple, many["documents"][["doc_id", "text"]].to_numpy()))


def test_names_do_not_run_out_before_half_a_million_passages():
    every = stems(0, 300_000)
    assert len(set(every)) == 300_000 and every[:1_000] == stems(0, 1_000)
    assert not {s.lower() for s in every} & (REAL | TAKEN)


@pytest.mark.parametrize("change, said", [
    ({"redundancy": 2}, "redundancy must be a number from 0 to 1, got 2"), ({"position": "first"}, "position must be drawn, early, middle, late"),
    ({"paraphrase": "no"}, "paraphrase must be a number from 0 to 1"), ({"tilt": 1}, "no dial is called 'tilt'")])
def test_a_dial_out_of_its_range_is_one_clear_error(change, said):
    with pytest.raises(ValueError, match=said):
        world(10, documents=60, **change)
