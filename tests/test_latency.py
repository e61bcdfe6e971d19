"""Latency: the queue against closed forms and brute force, batches and timeouts by hand, recorded service times, tables and fallbacks."""
import math

import numpy as np
import pandas as pd
import pytest
from depth_world import planted

from lib import depth, latency, latency_table, latency_times, record_times, tables
from lib.declarations_depth import DEPTH
from lib.latency import bursts, lindley, md1_wait, mm1_quantile, mm1_wait, on_off, poisson, simulate
from lib.latency_times import Times, efficiency, read_times, single, write_times


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    for name, spec in DEPTH.items():
        monkeypatch.setitem(tables.TABLES, name, tables._declared(name, spec))


def times(seconds=0.02, spread=0.1, together=(1, 2, 8), saved=0.9, depths=(5, 20), calls=10, seed=0):
    rng = np.random.default_rng(seed)
    rows = [(d, b, k, d * b * seconds * rng.uniform(1 - spread, 1 + spread) * (1 if b == 1 else saved), 1.0, d * b, d * b * 100, 600.0)
            for d in depths for b in together for k in range(calls)]
    return Times(pd.DataFrame(rows, columns=list(latency_times.COLUMNS)), {"model": "planted"})


# --- the queue against closed forms

@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_exponential_service_is_m_m_1(load):
    n = 400_000
    arrivals, seconds = poisson(load, n, 1), np.random.default_rng(2).exponential(1.0, n)
    served = simulate(arrivals, seconds)
    assert served.wait[n // 10:].mean() == pytest.approx(mm1_wait(load, 1.0), rel=0.06)
    for share in (0.5, 0.95, 0.99):
        assert np.quantile(served.latency[n // 10:], share) == pytest.approx(mm1_quantile(load, 1.0, share), rel=0.06)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_constant_service_is_m_d_1_and_waits_half_as_long(load):
    n = 400_000
    served = simulate(poisson(load, n, 3), np.ones(n))
    assert served.wait[n // 10:].mean() == pytest.approx(md1_wait(load, 1.0), rel=0.06)


def test_two_servers_wait_as_erlang_says():
    """M/M/2: the chance to wait is 2 rho^2 / (1 + rho), the mean wait that over 2 (1 - rho) services (Erlang C)."""
    n, rho = 100_000, 0.7
    served = simulate(poisson(2 * rho, n, 4), np.random.default_rng(5).exponential(1.0, n), servers=2)
    assert served.wait[n // 10:].mean() == pytest.approx(2 * rho**2 / (1 + rho) / (2 * (1 - rho)), rel=0.08)
    assert (served.wait[n // 10:] > 1e-9).mean() == pytest.approx(2 * rho**2 / (1 + rho), rel=0.03)


def test_groups_of_arrivals_wait_as_the_closed_form_says():
    """Poisson groups of geometric size, mean g, constant service: the wait of M/D/1 plus (g - 1) / (1 - load) services."""
    n, load, size = 400_000, 0.5, 4.0
    served = simulate(bursts(load, n, 6, size), np.ones(n))
    # M^X/G/1: W = load S / (2 (1 - load)) + (E[X^2] / E[X] - 1) S / (2 (1 - load)); geometric: E[X^2] / E[X] = 2 g - 1
    assert served.wait.mean() == pytest.approx(load / (2 * (1 - load)) + (2 * size - 2) / (2 * (1 - load)), rel=0.08)


def test_lindley_is_the_event_queue():
    arrivals, seconds = poisson(0.9, 3_000, 7), np.random.default_rng(8).exponential(1.0, 3_000)
    events = simulate(arrivals, lambda first, last: seconds[first])
    assert np.allclose(events.wait, lindley(arrivals, seconds)) and np.allclose(events.latency - events.wait, seconds)


# --- arrivals

@pytest.mark.parametrize("draw", [poisson, bursts, on_off])
def test_arrivals_come_at_the_rate_asked_and_again_the_same(draw):
    arrivals = draw(4.0, 40_000, 9)
    assert len(arrivals) == 40_000 and (np.diff(arrivals) >= 0).all() and len(arrivals) / arrivals[-1] == pytest.approx(4.0, rel=0.1)
    assert (arrivals == draw(4.0, 40_000, 9)).all() and (arrivals != draw(4.0, 40_000, 10)).any()


def test_bursts_are_more_uneven_than_poisson():
    def unevenness(arrivals):
        counts = np.histogram(arrivals, np.arange(0, arrivals[-1], 5.0))[0]
        return counts.var() / counts.mean()  # 1 for Poisson
    assert unevenness(poisson(4.0, 20_000, 1)) == pytest.approx(1, abs=0.15)
    assert unevenness(bursts(4.0, 20_000, 1)) > 5 and unevenness(on_off(4.0, 20_000, 1)) > 5


@pytest.mark.parametrize("wrong", [lambda: poisson(0, 3, 0), lambda: bursts(1, 3, 0, 0.5), lambda: on_off(1, 3, 0, 0), lambda: simulate([2, 1], [1, 1]),
                                   lambda: simulate([1, 2], [1, -1]), lambda: simulate([1], [1, 1]), lambda: simulate([1, 2], [1, 1], max_batch=2),
                                   lambda: simulate([1], [1], servers=0)])
def test_bad_input_is_one_error(wrong):
    with pytest.raises(ValueError):
        wrong()


# --- batches and timeouts by hand

def test_batches_by_hand():
    """Four at 0, 0.1, 0.2, 5: at most three together, none waits over 0.5 for company; a batch takes 1 s."""
    served = simulate([0.0, 0.1, 0.2, 5.0], lambda first, last: 1.0, max_batch=3, max_wait=0.5)
    assert served.batch.tolist() == [3, 3, 3, 1]
    assert served.wait.tolist() == pytest.approx([0.2, 0.1, 0.0, 0.5]) and served.latency.tolist() == pytest.approx([1.2, 1.1, 1.0, 1.5])


def test_a_busy_server_collects_what_comes_meanwhile():
    served = simulate([0.0, 0.2, 0.4, 0.6], lambda first, last: 1.0, max_batch=8, max_wait=0.0)
    assert served.batch.tolist() == [1, 3, 3, 3] and served.latency.tolist() == pytest.approx([1.0, 1.8, 1.6, 1.4])


def test_batches_that_save_nothing_only_wait():
    arrivals, seconds = poisson(0.7, 4_000, 2), np.random.default_rng(3).uniform(0.5, 1.5, 4_000)
    alone = simulate(arrivals, seconds).latency.mean()
    service = latency_table.together(seconds, pd.Series({1: 1.0}))
    assert simulate(arrivals, service, max_batch=8, max_wait=0.5).latency.mean() > alone
    saving = latency_table.together(seconds, pd.Series({1: 1.0, 8: 0.3}))
    assert simulate(arrivals, saving, max_batch=8).latency.mean() < alone


def test_who_gives_up_is_not_served_and_frees_the_queue():
    stays, leaves = (simulate([0.0, 0.1, 0.2, 3.5], [3.0, 3.0, 3.0, 1.0], give_up=g) for g in (math.inf, 1.0))
    assert stays.wait.tolist() == pytest.approx([0, 2.9, 5.8, 5.5]) and np.isnan(leaves.latency).tolist() == [False, True, True, False] and leaves.wait[3] == 0


def test_more_servers_never_wait_longer():
    arrivals, seconds = bursts(1.5, 3_000, 4), np.random.default_rng(5).exponential(0.5, 3_000)
    waits = [simulate(arrivals, seconds, servers=c).wait for c in (1, 2, 4)]
    assert (waits[1] <= waits[0] + 1e-9).all() and (waits[2] <= waits[1] + 1e-9).all()


# --- recorded times

def test_times_are_written_and_read_the_same(tmp_path):
    given = times()
    path = write_times(given, tmp_path / "t.json")
    again = read_times(path)
    assert again.about == given.about and np.allclose(again.rows["seconds"], given.rows["seconds"], rtol=1e-5) and len(single(again, 20)) == 10
    assert path.read_bytes() == write_times(again, tmp_path / "u.json").read_bytes()


@pytest.mark.parametrize("text", ["", "{}", '{"about": {}, "columns": ["depth"], "rows": [[1]]}',
                                  '{"about": {}, "columns": ["depth","queries","repeat","seconds","wall","pairs","tokens","peak_mb"], "rows": [[5,1,0,0,1,5,9,1]]}'])
def test_damaged_times_are_one_error(tmp_path, text):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(ValueError, match="record_times"):
        read_times(tmp_path / "t.json")
    with pytest.raises(ValueError, match="not there"):
        read_times(tmp_path / "none.json")


def test_efficiency_and_an_unknown_depth():
    assert efficiency(times(spread=0.0, saved=0.8), 20).to_dict() == pytest.approx({1: 1.0, 2: 0.8, 8: 0.8})
    assert latency_table.together(np.ones(20), pd.Series({1: 1.0, 3: 0.6}))(0, 2) == pytest.approx(1.6), "interpolated"
    assert latency_table.together(np.ones(20), pd.Series({1: 1.0, 3: 0.6}))(0, 9) == pytest.approx(5.4), "beyond the largest it stays"
    with pytest.raises(ValueError, match="none at depth 7"):
        single(times(), 7)


def test_the_committed_times_are_sound():
    if not latency_times.TIMES.exists():
        pytest.skip("data/sample/service_times.json is not recorded")
    recorded = read_times()
    made = latency_times.summary(recorded)
    assert {5, 10, 20, 50, 100, 200} <= set(latency_times.depths_of(recorded)) and recorded.about["threads"] == 1
    alone = made[made["queries"] == 1].set_index("depth")["mean"]
    assert alone.is_monotonic_increasing and 20 < alone[200] / alone[5] < 80, "about linear in the pairs"


class Slow:
    """A scorer that counts what it is given."""
    max_length = 64

    def __init__(self):
        self.sizes = []
        self.tokenizer = self

    def token_to_id(self, token):
        return 0

    def encode_batch(self, texts, add_special_tokens):
        return [type("E", (), {"ids": t.split()}) for t in texts]

    def score(self, pairs, batch_size=32):
        self.sizes.append(len(pairs))
        return [float(sum(range(20_000)))] * len(pairs)


def test_what_is_timed_is_what_was_asked():
    scorer = Slow()
    lists = [[(f"question {q}", f"passage {i} of it") for i in range(30)] for q in range(8)]
    rows = record_times.measure(scorer, lists, (5, 30), together=(2,), calls=6, pairs=40)
    assert rows.groupby(["depth", "queries"]).size().to_dict() == {(5, 1): 6, (5, 2): 5, (30, 1): 5}
    assert scorer.sizes == [4] + [5] * 6 + [10] * 5 + [30] * 5 and (rows["tokens"] == rows["pairs"] * (3 + 2 + 4)).all()
    with pytest.raises(ValueError, match="are needed"):
        record_times.measure(scorer, lists, (31,))


def test_lists_to_time_are_of_the_depth_and_the_machine_is_told_in_general_words():
    documents = pd.DataFrame({"dataset": "d", "doc_id": list("abc"), "title": "T", "text": ["eels swim", "towns sleep", "eels sleep"]})
    questions = pd.DataFrame({"dataset": "d", "qid": ["q"], "question": ["Where do eels swim?"]})
    made = record_times.lists_of(questions, documents, 2)
    assert [p for _, p in made[0]] == ["T. eels swim", "T. eels sleep"]
    import socket
    assert socket.gethostname() not in record_times.machine() and "thread" in record_times.machine()


# --- tables

def test_the_table_is_whole_and_tails_grow_with_load():
    made = tables.check(latency_table.latency_table(times(), "sample", "planted", [5, 20], loads=(0.3, 0.8), timeout=1.0, requests=1_000, runs=6), "latency")
    assert len(made) == 2 * 3 * 2 * 7
    at = made.set_index(["depth", "arrangement", "load", "quantity"])["estimate"]
    for d in (5, 20):
        for how in ("single", "batched", "bursty"):
            assert at[d, how, 0.3, "p50"] <= at[d, how, 0.3, "p95"] <= at[d, how, 0.3, "p99"] and at[d, how, 0.8, "p99"] > at[d, how, 0.3, "p99"]
        assert at[d, "bursty", 0.8, "p99"] > at[d, "single", 0.8, "p99"] and at[d, "single", 0.8, "batch"] == 1 < at[d, "batched", 0.8, "batch"]
    again = latency_table.latency_table(times(), "sample", "planted", [20], loads=(0.8,), timeout=1.0, requests=1_000, runs=6)
    again = again.set_index(["depth", "arrangement", "load", "quantity"])["estimate"]
    assert again.to_dict() == at[again.index].to_dict(), "a cell does not depend on the others"


def test_timed_out_agrees_with_md1_and_with_giving_up_every_latency_is_bounded():
    """Constant service at load 0.8: the table's mean wait is M/D/1's, and a timeout between median and tail is passed by some."""
    still = times(spread=0.0, depths=(20,))
    made = latency_table.latency_table(still, "s", "planted", [20], loads=(0.8,), arrangements=("single",), timeout=2.0, requests=20_000,
            runs=10).set_index("quantity")
    assert made.loc["wait", "estimate"] == pytest.approx(md1_wait(0.8 / 0.4, 0.4), rel=0.1)
    assert made.loc["p50", "estimate"] < 2.0 < made.loc["p99", "estimate"] and 0.01 < made.loc["timed_out", "estimate"] < 0.5
    given_up = latency_table.latency_table(still, "s", "planted", [20], loads=(0.9,), arrangements=("bursty",), timeout=0.9, give_up=True, requests=2_000,
            runs=4).set_index("quantity")
    assert given_up.loc["p99", "estimate"] <= 0.9 + 0.4 + 1e-9 and given_up.loc["timed_out", "estimate"] > 0.3


@pytest.mark.parametrize(("options", "message"), [({"loads": (1.0,)}, "a load lies"), ({"arrangements": ("weekly",)}, "unknown arrangement")])
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        latency_table.latency_table(times(), "s", "planted", [5], **options)


def test_fallback_lies_between_the_first_stage_and_the_reranker():
    rows = depth.depth_rows(*planted(n=30, seed=1), depths=(5, 20))
    load = latency_table.latency_table(times(), "sample", "planted", [5, 20], loads=(0.3, 0.9), timeout=0.6, requests=800, runs=4)
    made = tables.check(latency_table.fallback_table(rows, load, "sample", "bm25", "planted", failure_rate=0.1, resamples=200), "fallback")
    means = rows[rows["depth"] == 20][["base", "realised"]].mean()
    deep = made[(made["slice"] == "all") & (made["depth"] == 20) & (made["measure"] == "ndcg")]
    assert np.allclose(deep["estimate"], (1 - deep["fallback"]) * means["realised"] + deep["fallback"] * means["base"]) and (deep["fallback"] >= 0.1).all()
    all_fail = latency_table.fallback_table(rows, load, "sample", "bm25", "planted", failure_rate=1.0, measures=("ndcg",), resamples=200)
    assert np.allclose(all_fail.loc[(all_fail["slice"] == "all") & (all_fail["depth"] == 20), "estimate"], means["base"])
    with pytest.raises(ValueError, match="failure rate"):
        latency_table.fallback_table(rows, load, "sample", "bm25", "planted", failure_rate=2)


def test_latency_closed_forms_diverge_at_full_load():
    assert mm1_wait(1.0, 1.0) == math.inf and mm1_quantile(2.0, 1.0, 0.5) == math.inf and latency.md1_wait(0.5, 1.0) == 0.5
