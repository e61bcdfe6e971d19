"""The audit sample of unjudged passages: unbiased over every sample, intervals that hold by simulation, sizes that give the wanted width."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from lib import judgements_sample as audit
from lib import judgements_sample_table as rehearsal
from lib import tables
from lib.declarations_judgements import JUDGEMENTS
from lib.judgements_sample import KEY


def population(relevant, sizes):
    """Strata of ``sizes`` passages, so many of them relevant."""
    rows = [("d", f"q{s}", f"{s}-{i:04d}", 1, f"s{s}", float(i < r)) for s, (r, n) in enumerate(zip(relevant, sizes)) for i in range(n)]
    return pd.DataFrame(rows, columns=[*KEY, "rank", "stratum", "relevant"])


def test_the_estimate_is_exact_on_average_over_every_possible_sample():
    whole = population([2, 1], [4, 5])
    parts = [part for _, part in whole.groupby("stratum")]
    estimates = []
    for first in itertools.combinations(range(4), 2):
        for second in itertools.combinations(range(5), 3):
            drawn = pd.concat([parts[0].iloc[list(first)].assign(stratum_size=4), parts[1].iloc[list(second)].assign(stratum_size=5)])
            found = audit.missing_relevant(drawn, drawn["relevant"])
            estimates.append(found.estimate)
            assert found.low <= found.estimate <= found.high
            assert drawn["relevant"].sum() <= found.low and found.high <= 9 - (len(drawn) - drawn["relevant"].sum())
    assert np.mean(estimates) == pytest.approx(3, abs=1e-12)


def test_inclusion_probabilities_are_those_of_the_draw():
    whole, drawn = population([3, 3], [6, 30]), []
    for seed in range(200):
        sample = audit.draw(whole, 9, seed)
        assert len(sample) == 9
        drawn += list(sample["doc_id"])
        chances = sample.set_index("doc_id")["probability"]
    counts = pd.Series(drawn).value_counts().reindex(whole["doc_id"], fill_value=0) / 200
    assert chances.to_dict() == {d: (2 / 6 if d.startswith("0") else 7 / 30) for d in chances.index}
    expected = np.where(whole["stratum"] == "s0", 2 / 6, 7 / 30)
    assert np.abs(counts.to_numpy() - expected).max() < 4 * math.sqrt(0.25 / 200)
    pd.testing.assert_frame_equal(audit.draw(whole, 9, 1), audit.draw(whole.sample(frac=1, random_state=5), 9, 1))


@pytest.mark.parametrize("relevant, sizes, n", [([10, 10, 6], [100, 200, 300], 80), ([2, 0], [200, 300], 100), ([20, 16], [40, 80], 40)])
def test_intervals_hold_the_truth_as_often_as_they_say(relevant, sizes, n):
    whole, truth, found = population(relevant, sizes), sum(relevant), []
    for seed in range(100):
        sample = audit.draw(whole, n, seed)
        found.append(audit.missing_relevant(sample, sample["relevant"]))
    held = np.mean([m.low <= truth + 1e-9 and truth - 1e-9 <= m.high for m in found])
    estimates = np.array([m.estimate for m in found])
    assert held >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 100)
    assert abs(estimates.mean() - truth) < 4 * estimates.std() / math.sqrt(100)


def test_limits_of_the_estimate():
    whole = population([3, 2], [5, 4])
    every = audit.draw(whole, 9)
    assert audit.missing_relevant(every, every["relevant"])[:3] == (5, 5, 5)  # all audited: nothing is left to chance
    sample = audit.draw(whole, 6)
    none = audit.missing_relevant(sample, [0.0] * 6)
    assert none.estimate == none.low == 0 and none.high == 2  # were it 3 of 9, six draws without one would have a chance of 1 in 84; were it 2, 1 in 12
    assert audit.missing_relevant(audit.draw(whole.iloc[:0], 5), []) == (0, 0, 0, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="give one a passage"):
        audit.missing_relevant(sample, [1.0])


def test_uncertain_stays_uncertain_and_widens_the_interval():
    sample = audit.draw(population([10], [60]), 20)
    sure = audit.missing_relevant(sample, sample["relevant"])
    labels = sample["relevant"].to_numpy().copy()
    labels[np.flatnonzero(labels == 0)[:3]] = np.nan
    unsure = audit.missing_relevant(sample, labels)
    assert unsure.uncertain == 3 and unsure.high > sure.high and unsure.low <= sure.low and unsure.found == sure.found
    lost = audit.missing_relevant(sample, [np.nan] * 20)
    assert math.isnan(lost.estimate) and lost.low == 0 and lost.high == 60


def test_the_size_asked_for_gives_about_the_width_wanted():
    whole = population([60, 40], [400, 600])
    for half in (40, 20):
        n = audit.needed(1000, 0.1, half)
        widths = []
        for seed in range(20):
            sample = audit.draw(whole, n, seed)
            m = audit.missing_relevant(sample, sample["relevant"])
            widths.append((m.high - m.low) / 2)
        assert np.mean(widths) == pytest.approx(half, rel=0.2)
    assert audit.needed(1000, 0.1, 1e-9) == 1000
    for wrong in ((0, 0.1, 1), (10, 0.0, 1), (10, 0.1, 0)):
        with pytest.raises(ValueError, match="population"):
            audit.needed(*wrong)


def test_allocation_gives_each_stratum_its_share_and_never_more_than_it_has():
    rng = np.random.default_rng(2)
    for _ in range(40):
        sizes = {f"s{i}": int(n) for i, n in enumerate(rng.integers(1, 60, rng.integers(1, 7)))}
        n = int(rng.integers(1, 80))
        taken = audit.allocation(sizes, n)
        assert all(min(2, sizes[s]) <= taken[s] <= sizes[s] for s in sizes)
        assert sum(taken.values()) == max(min(n, sum(sizes.values())), sum(min(2, v) for v in sizes.values()))
    with pytest.raises(ValueError, match="1 passage"):
        audit.allocation({"s": 3}, 0)


def rankings():
    rows = [
        ("d", q, "pooled", ranker, r, f"p{(r * step) % 11}", 20.0 - r) for q in ("a", "b") for ranker, step in (("old", 1), ("new", 3)) for r in range(1, 11)
    ]
    return pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])


def test_the_frame_is_every_unjudged_high_rank_once_at_its_best_rank():
    judged = pd.DataFrame([("d", "a", "p1", 1.0), ("d", "a", "p3", np.nan)], columns=[*KEY, "grade"])
    member = pd.DataFrame([("d", "a", "y"), ("d", "a", "x")], columns=["dataset", "qid", "slice"])
    whole = audit.frame(rankings(), judged, 5, member).set_index(["qid", "doc_id"])
    by_hand = {(q, d) for q, d, r in rankings()[["qid", "doc_id", "rank"]].itertuples(index=False) if r <= 5} - {("a", "p1")}
    assert set(whole.index) == by_hand and not whole.index.duplicated().any()  # an uncertain passage is unjudged
    assert whole.loc[("a", "p3"), ["rank", "slice", "band"]].tolist() == [1, "x; y", "ranks 1 to 3"]
    assert whole.loc[("b", "p5"), "stratum"] == "no slice · ranks 4 to 5"
    assert whole.loc[("b", "p4"), "rank"] == 4  # rank 5 in the other list
    assert set(audit.frame(rankings(), judged, 5)["slice"]) == {"all"}


def test_the_rehearsal_finds_what_was_hidden():
    judged = pd.DataFrame([("d", q, f"p{i}", float(i % 3 == 0)) for q in ("a", "b") for i in range(11)] + [("d", "a", "x", np.nan)], columns=[*KEY, "grade"])
    made = rehearsal.audit_table(rankings(), judged, "old", 2, "t", depth=5, sizes=[4, 8, 12, 500])
    tables.TABLES.setdefault("judgement_audit", tables._declared("judgement_audit", JUDGEMENTS["judgement_audit"]))
    made = tables.check(made, "judgement_audit")
    hidden = rankings().query("rank <= 5")[KEY].drop_duplicates()
    hidden = hidden[~hidden["doc_id"].isin(["p1", "p2"])]
    assert (made["truth"] == sum(int(d[1:]) % 3 == 0 for d in hidden["doc_id"])).all() and (made["population"] == len(hidden)).all()
    assert ((made["ci_low"] <= made["truth"]) & (made["truth"] <= made["ci_high"])).all() and (made["sampled"] <= len(hidden)).all()
