"""The canary: who is in it, that only the order differs, the level of its stopping rule under any number of looks, and a split that adds up."""

import math

import numpy as np
import pandas as pd
import pytest

from lib import rollout_canary as canary
from lib import rollout_split as split_of
from lib import tables
from lib.declarations_rollout import ROLLOUT
from lib.rollout_canary import ON, PROMOTE, STOP
from lib.rollout_parameters import Canary, read_parameters
from lib.rollout_replay import replay, replays
from lib.rollout_rows import question_rows
from lib.rollout_units import Unit, reading
from lib.viability_slices import no_slices

OLD, NEW = Unit("first", {"name": "none"}, {}, reading("first_stage")), Unit("new", {"name": "new"}, {"max_length": 192}, reading())
HOW = Canary(share=0.1, seed=1, alpha=0.05, harm=0.02, look_every=1)
NOBODY = no_slices()


def asked(n):
    return pd.DataFrame({"dataset": "d", "qid": [f"q{i}" for i in range(n)]})


def test_the_draw_is_seeded_nested_fair_and_free_of_the_order_of_rows():
    few, many = (canary.assigned(asked(2_000), share, 1) for share in (0.1, 0.3))
    assert set(few["qid"]) <= set(many["qid"]) and many["qid"].tolist()[: len(few)] == few["qid"].tolist()
    assert abs(len(few) - 200) < 4 * math.sqrt(2_000 * 0.1 * 0.9)
    assert canary.assigned(asked(2_000).iloc[::-1], 0.1, 1).equals(few)
    assert set(canary.assigned(asked(2_000), 0.1, 2)["qid"]) != set(few["qid"])
    assert len(canary.assigned(asked(50), 1.0, 1)) == 50
    with pytest.raises(ValueError, match=r"\(0, 1\]"):
        canary.assigned(asked(5), 0.0, 1)


def one(unit, ids="abc", scores=(0.1, 0.9, 0.5), qid="q", **more):
    return replay(("d", qid), {}, list(zip(ids, (3.0, 2.0, 1.0))), None if unit is OLD else list(scores), unit, 2, **more)


def test_a_frozen_canary_changes_the_order_alone():
    assert canary.frozen([one(OLD)], [one(NEW)]) == 1 and canary.frozen([one(OLD)], [one(NEW, scores=(3, 2, 1))]) == 0
    for other, said in ((one(NEW, ids="abd"), "candidate_set"), (one(NEW, ids="bac"), "first-stage scores"), (one(NEW, dropped={"x": "archived"}), "filters"),
                        (one(NEW, qid="r"), "one side alone")):
        with pytest.raises(ValueError, match=said):
            canary.frozen([one(OLD)], [other])


@pytest.mark.parametrize("kind", ["edge of harm", "rare losses", "none at all"])
def test_looking_after_every_question_stops_a_harmless_reranker_no_more_often_than_alpha(kind):
    """A plain test at each of 150 looks would stop every third or so; the bet's capital reaches 20 in at most one run of twenty."""
    rng, wrong, runs = np.random.default_rng(3), 0, 400
    for _ in range(runs):
        if kind == "edge of harm":
            change = rng.choice([-1.0, 0.0, 1.0], 150, p=[0.12, 0.78, 0.10])  # a mean loss of exactly 0.02
        elif kind == "rare losses":
            change = -(rng.random(150) < 0.02).astype(float)
        else:
            change = np.clip(rng.normal(0, 0.2, 150), -1, 1)
        wrong += (canary.capital((1 - change) / 2, (1 + HOW.harm) / 2) >= 1 / HOW.alpha).any()
    assert wrong / runs <= HOW.alpha + 3 * math.sqrt(HOW.alpha * (1 - HOW.alpha) / runs)


def test_a_test_at_every_look_would_not_keep_the_level():
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(300):
        change = rng.normal(0, 0.2, 150)
        n = np.arange(10, 151)
        mean, sd = np.cumsum(change)[9:] / n, np.array([change[:k].std(ddof=1) for k in n])
        wrong += (mean / sd * np.sqrt(n) < -1.645).any()
    assert wrong / 300 > 0.2


def test_harm_is_stopped_gain_is_promoted_and_what_was_said_stays():
    rng = np.random.default_rng(8)
    harm = asked(300).assign(change=rng.choice([-1.0, 0.0], 300, p=[0.25, 0.75]))
    looks = canary.watched(harm, NOBODY, HOW._replace(look_every=10))
    assert looks["verdict"].iloc[-1] == STOP and canary.last_looks(looks)["n"].iloc[0] < 150
    first = looks["verdict"].tolist().index(STOP)
    assert set(looks["verdict"].iloc[first:]) == {STOP} and set(looks["verdict"].iloc[:first]) <= {ON}
    gain = canary.watched(harm.assign(change=-harm["change"]), NOBODY, HOW._replace(look_every=10))
    assert gain["verdict"].iloc[-1] == PROMOTE
    assert canary.watched(harm.assign(change=0.0), NOBODY, HOW)["verdict"].iloc[-1] == ON


def test_damage_in_one_slice_is_seen_though_the_whole_gains():
    n = 400
    member = asked(n).assign(slice=["identifier" if i % 4 == 0 else "paraphrase" for i in range(n)])
    rng = np.random.default_rng(1)
    change = (rng.random(n) < 0.5) * np.where(member["slice"] == "identifier", -1.0, 1.0)
    said = canary.last_looks(canary.watched(asked(n).assign(change=change), member, HOW._replace(look_every=20))).set_index("slice")["verdict"]
    assert said["all"] == PROMOTE and said["identifier"] == STOP and said["paraphrase"] == PROMOTE


def test_one_question_and_none_are_no_crash():
    assert len(canary.watched(asked(1).assign(change=math.nan), NOBODY, HOW)) == 0
    assert canary.watched(asked(1).assign(change=-1.0), NOBODY, HOW)["n"].tolist() == [1]


def lists(seed, n=40, depth=12):
    rng, rows = np.random.default_rng(seed), []
    for i in range(n):
        for rank, doc in enumerate(rng.permutation(20)[:depth], 1):
            rows.append(("d", f"q{i}", "first", rank, f"p{doc}", -float(rank)))
    return pd.DataFrame(rows, columns=["dataset", "qid", "ranker", "rank", "doc_id", "score"])


def turned(first, seed):
    rng = np.random.default_rng(seed)
    scored = first.assign(score=rng.random(len(first)), ranker="again").sort_values(["dataset", "qid", "score"], ascending=[True, True, False])
    return scored.assign(rank=scored.groupby("qid").cumcount() + 1)


def four():
    asked_of = read_parameters()
    gold = pd.DataFrame([("d", f"q{i}", f"p{j}", 1.0) for i in range(40) for j in (i % 20, (i + 7) % 20)], columns=["dataset", "qid", "doc_id", "grade"])
    member = asked(40).assign(slice=["a" if i % 2 else "b" for i in range(40)])
    old, new = lists(1), lists(2)
    return [question_rows(f, turned(f, 3), gold, member, asked_of) for f in (old, new)]


def test_ordering_and_retrieval_add_up_exactly_both_ways_round(monkeypatch):
    frozen, live = four()
    table = split_of.split(frozen, live, resamples=200)
    assert split_of.adds_up(table) and not split_of.adds_up(table.assign(estimate=table["estimate"] + (table["part"] == "total") * 0.01))
    monkeypatch.setitem(tables.TABLES, "release_split", tables._declared("release_split", ROLLOUT["release_split"]))
    tables.check(table.assign(tier="t"), "release_split")
    whole = frozen[frozen["slice"] == "all"].merge(live[live["slice"] == "all"], on=["dataset", "qid"], suffixes=("", "_live"))
    row = table[(table["slice"] == "all") & (table["measure"] == "ndcg")].set_index("part")["estimate"]
    assert row["total"] == pytest.approx((whole["reranked_live"] - whole["base"]).mean())
    assert row["ordering"] == pytest.approx((whole["reranked"] - whole["base"]).mean())
    same = split_of.split(frozen, frozen, resamples=50)
    assert (same.loc[same["part"].isin(["retrieval", "retrieval first"]), "estimate"].dropna() == 0).all()


def test_the_unconditional_gain_is_the_conditional_one_times_the_share_of_pools_plus_the_rest():
    rows, _ = four()
    table = split_of.gains(rows, resamples=100)
    part = rows[rows["slice"] == "all"]
    found = table[(table["slice"] == "all") & (table["measure"] == "ndcg")].set_index("over")
    held = part["in_pool"] == 1
    assert found.at["evidence in the pool", "n"] == held.sum() and found.at["all", "n"] == len(part)
    rest = (part["reranked"] - part["base"])[~held].sum()
    assert found.at["all", "estimate"] * len(part) == pytest.approx(found.at["evidence in the pool", "estimate"] * held.sum() + rest)


def test_changes_come_in_the_order_of_the_draw():
    rows, _ = four()
    drawn = canary.assigned(asked(40), 0.5, 1)
    found = split_of.changes(rows, drawn)
    assert found["qid"].tolist() == drawn["qid"].tolist()
    with pytest.raises(ValueError, match="measure must be one of"):
        split_of.changes(rows, drawn, "f1")


def test_replays_of_lists_are_frozen_and_show_what_the_rows_say():
    first = lists(1)
    again = turned(first, 3)
    before, after = replays(first, OLD, 4), replays(first, NEW, 4, again)
    assert canary.frozen(before, after) == 40
    by = again[again["rank"] <= 4].groupby("qid")["doc_id"].agg(list)
    assert all(r["shown"] == by[r["qid"]] for r in after)
