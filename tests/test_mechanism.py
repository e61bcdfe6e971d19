"""Why coverage and answers part: a small world by hand, a random one by brute force, and parts that add up."""
import numpy as np
import pandas as pd
import pytest

from lib import bootstrap, mechanism, packers, survival, tables
from lib.mechanism import QUANTITIES

DRAWS = 200
PASSAGES = "abcdef"


def world(n=60, seed=0):
    """Random questions with up to three gold passages among six, packed by two packers: (questions, holders, packs)."""
    rng, questions, holders, packs = np.random.default_rng(seed), [], [], []
    for i in range(n):
        qid, kind = f"q{i:03}", ["bridge", "comparison_choice", "comparison_yesno", "free_form"][rng.choice(4, p=[0.5, 0.3, 0.1, 0.1])]
        questions.append(("d", qid, ["yes"] if kind == "comparison_yesno" else ["Rome"], kind, i % 2))
        gold, ranks = set(rng.permutation(list(PASSAGES))[:rng.integers(0, 4)]), dict(zip(rng.permutation(list(PASSAGES)), range(1, 6)))  # one is not retrieved
        span = kind in ("bridge", "comparison_choice")
        holders += [("d", qid, p, ranks.get(p), p in gold, int(span and rng.random() < 0.4)) for p in PASSAGES if p in ranks or p in gold]
        for policy in ("focused", "submod"):
            for position, p in enumerate(rng.permutation(sorted(ranks))[:rng.integers(0, 4)]):
                packs.append(("d", qid, "p", policy, 100, position, f"{p}#0", p, 20, float(rng.integers(0, 3))))
    return (pd.DataFrame(questions, columns=["dataset", "qid", "answers", "question_type", "half"]),
            pd.DataFrame(holders, columns=["dataset", "qid", "doc_id", "rank", "is_gold", "holds_answer"]).astype({"rank": "Int64"}),
            pd.DataFrame(packs, columns=["dataset", "qid", "pack_id", "policy", "budget", "position", "snippet_id", "doc_id", "n_tokens", "marginal_gain"]))


def by_hand(questions, holders, packs):
    """Every quantity over all questions, with loops and sets: {quantity: (numerator, denominator)}."""
    total = {q: [0.0, 0.0] for q in QUANTITIES}

    def add(quantity, above, below):
        total[quantity][0] += above
        total[quantity][1] += below

    for q in questions.itertuples():
        add("undefined", q.question_type in ("comparison_yesno", "free_form"), 1)
        gold = holders[(holders["qid"] == q.qid) & holders["is_gold"]]
        if q.question_type in ("comparison_yesno", "free_form") or gold.empty:
            continue
        bearing, everything = set(gold.loc[gold["holds_answer"] == 1, "doc_id"]), set(gold["doc_id"])
        pool = set(gold.loc[gold["rank"].notna(), "doc_id"])
        mine = {p: packs[(packs["qid"] == q.qid) & (packs["policy"] == p)] for p in ("submod", "focused")}
        t, c = (set(mine[p]["doc_id"]) & everything for p in ("submod", "focused"))
        gains = mine["focused"].sort_values(["marginal_gain", "position"], ascending=[False, True])["doc_id"].tolist()
        add("has_answer_document", bool(bearing), 1)
        if bearing:
            add("answer_ranked_first", bool(bearing & set(gold.loc[gold["rank"] == 1, "doc_id"])), 1)
            add("answer_first_pick", bool(gains[:1]) and gains[0] in bearing, 1)
            add("answer_in_control", bool(bearing & c), 1)
            add("answer_in_treatment", bool(bearing & t), 1)
        add("gold_added", len(t - c), 1)
        add("gold_dropped", len(c - t), 1)
        add("added_bridging", len(t - c - bearing), len(t - c))
        add("open_bridging", len(pool - c - bearing), len(pool - c))
        add("dropped_answer", len((c - t) & bearing), len(c - t))
        add("control_answer", len(c & bearing), len(c))
        k = len(everything)
        add("added_coverage_bridging", len(t - c - bearing) / k, len(t - c) / k)
        add("coverage_delta", survival.gold_coverage(everything, mine["submod"]["doc_id"]) - survival.gold_coverage(everything, mine["focused"]["doc_id"]), 1)
        add("coverage_delta_bridging", (len(t - bearing) - len(c - bearing)) / k, 1)
        add("coverage_delta_answer", (len(t & bearing) - len(c & bearing)) / k, 1)
    return total


def values(table, half="all", kind="all"):
    return table[(table["half"] == half) & (table["question_type"] == kind)].set_index("quantity")


@pytest.mark.parametrize("seed", range(2))
def test_every_quantity_equals_brute_force_on_every_half_and_type(seed):
    questions, holders, packs = world(seed=seed)
    table = mechanism.mechanism(questions, holders, packs, "t", resamples=DRAWS)
    assert len(tables.check(table, "mechanism")) == len(table) and set(table["quantity"]) == set(QUANTITIES)
    parts = [("all", "all", questions), ("1", "all", questions[questions["half"] == 1]), ("all", "bridge", questions[questions["question_type"] == "bridge"])]
    for half, kind, part in parts:
        found, right = values(table, half, kind), by_hand(part, holders, packs)
        for quantity, (above, below) in right.items():
            assert found["estimate"][quantity] == pytest.approx(above / below) if below else np.isnan(found["estimate"][quantity])
            if quantity != "added_coverage_bridging":
                assert found["n"][quantity] == below
        told = found.dropna()
        assert (told["ci_low"] <= told["estimate"] + 1e-9).all() and (told["estimate"] <= told["ci_high"] + 1e-9).all()


@pytest.mark.parametrize("seed", range(2))
def test_the_parts_of_coverage_add_up_and_types_partition_the_questions(seed):
    table = mechanism.mechanism(*world(seed=seed), "t", resamples=DRAWS)
    found = values(table)
    assert found["estimate"]["coverage_delta"] == pytest.approx(found["estimate"]["coverage_delta_bridging"] + found["estimate"]["coverage_delta_answer"])
    counted = table[(table["half"] == "all") & (table["quantity"] == "undefined")].set_index("question_type")["n"]
    assert counted.drop("all").sum() == counted["all"] == 60
    back = values(mechanism.mechanism(*world(seed=seed), "t", pair=("focused", "submod"), resamples=DRAWS))
    assert back["estimate"]["coverage_delta"] == pytest.approx(-found["estimate"]["coverage_delta"])
    assert back["estimate"]["gold_added"] == pytest.approx(found["estimate"]["gold_dropped"])


def test_the_published_mechanism_in_four_questions():
    """The control packs the answer's passage, ranked first; the treatment adds the bridge: coverage rises, no answer is won."""
    qids = ["q1", "q2", "q3", "q4"]
    questions = pd.DataFrame({"dataset": "d", "qid": qids, "answers": [["Rome"]] * 4, "question_type": "compositional", "half": [0, 1, 0, 1]})
    holders = pd.DataFrame([("d", q, p, r, True, h) for q in qids for p, r, h in (("answer", 1, 1), ("bridge", 2, 0))],
                           columns=["dataset", "qid", "doc_id", "rank", "is_gold", "holds_answer"])
    kept = {"focused": ["answer"], "submod": ["answer", "bridge"]}
    packs = pd.DataFrame([("d", q, "p", policy, 100, i, p, p, 20, 1.0 - i / 10) for q in qids for policy in kept for i, p in enumerate(kept[policy])],
                         columns=["dataset", "qid", "pack_id", "policy", "budget", "position", "snippet_id", "doc_id", "n_tokens", "marginal_gain"])
    found = values(mechanism.mechanism(questions, holders, packs, "t", resamples=DRAWS))
    sure = ["answer_ranked_first", "answer_first_pick", "answer_in_control", "answer_in_treatment", "added_bridging", "gold_added"]
    assert found["estimate"][sure].tolist() == [1] * 6
    assert found["estimate"][["coverage_delta", "coverage_delta_bridging", "coverage_delta_answer", "gold_dropped"]].tolist() == [0.5, 0.5, 0, 0]
    assert found["n"]["dropped_answer"] == 0 and np.isnan(found["estimate"]["dropped_answer"])


def test_the_first_pick_is_the_one_the_packer_made_first():
    """Packs are stored in reading order; gains tell which pick came first."""
    rng, n = np.random.default_rng(0), 8
    for _ in range(60):
        terms = rng.random((n, 6)) < 0.4
        near = rng.random((n, n)) * 0.5
        c = packers.Candidates("q", tuple(f"s{i}" for i in range(n)), terms.mean(axis=1), rng.integers(10, 40, n), terms, (near + near.T) / 2 + np.eye(n) / 2,
                               np.arange(n), np.arange(1, n + 1), np.zeros(n, int))
        for policy in ("focused", "naive", "mmr", "submod"):
            picks = packers.PACKERS[policy](c, 80)
            if not picks or (policy == "submod" and len(picks) == 1):
                continue  # the fallback's single pick
            shown = packers.pack(c, policy, 80)
            table = pd.DataFrame([("d", "q", policy, position, str(i), int(c.costs[i]), gain) for position, (i, gain) in enumerate(shown)],
                                 columns=["dataset", "qid", "policy", "position", "doc_id", "n_tokens", "marginal_gain"])
            assert mechanism.first_picks(table, policy).tolist() == [str(picks[0][0])]


def test_order_of_rows_changes_nothing():
    questions, holders, packs = world()
    shuffled = [t.sample(frac=1, random_state=1) for t in (questions, holders, packs)]
    pd.testing.assert_frame_equal(mechanism.mechanism(questions, holders, packs, "t", resamples=DRAWS), mechanism.mechanism(*shuffled, "t", resamples=DRAWS))


def test_poor_input_gives_missing_rows_or_none():
    questions, holders, packs = world()
    bare = values(mechanism.mechanism(questions, holders.assign(is_gold=False), packs, "t", resamples=DRAWS))
    assert bare["estimate"].notna().sum() == 1 and bare["n"].drop("undefined").eq(0).all()
    assert mechanism.mechanism(questions, holders, packs[packs["policy"] == "submod"], "t", resamples=DRAWS).empty
    assert mechanism.mechanism(questions, holders, packs.iloc[:0], "t", resamples=DRAWS).empty
    spoken = values(mechanism.mechanism(questions.assign(question_type="free_form"), holders, packs, "t", resamples=DRAWS))
    assert spoken["estimate"]["undefined"] == 1 and spoken["estimate"].notna().sum() == 1
    with pytest.raises(ValueError, match="2 such pairs"):
        mechanism.mechanism(questions, holders, pd.concat([packs, packs.assign(budget=160)]), "t", resamples=DRAWS)


def test_a_share_of_three_passages_is_never_certain():
    sure = bootstrap.Interval(0.0, 0.0, 0.0, float("nan"), 3, 3)
    exact = mechanism._never_certain(sure, "added_bridging")
    assert exact.low == 0 and exact.high == pytest.approx(1 - 0.025 ** (1 / 3))  # Clopper-Pearson: (1 - p)^3 = 2.5 %
    assert mechanism._never_certain(sure, "coverage_delta") == sure  # a difference of nothing is exactly nothing
