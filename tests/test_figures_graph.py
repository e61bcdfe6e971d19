"""The graph list's figure and sentences: verdicts by hand, what is shaded and left out, and tables with little in them."""
import numpy as np
import pandas as pd
import pytest

from lib import figures_graph, graph_list_table, wording_graph
from lib.charts import ChartError, NothingToDraw, spec_of

MEASURES = graph_list_table.MEASURES


def row(dataset="musique", measure="recall_at_5", estimate=0.1, low=0.05, high=0.15, ranker="graph", half="all", hops=0, p_holm=0.01, n=100):
    return {"tier": "real", "dataset": dataset, "half": half, "n_hops": hops, "ranker": ranker, "minus": "dense", "measure": measure, "estimate": estimate,
            "ci_low": low, "ci_high": high, "p_value": p_holm / 8, "p_holm": p_holm, "wins": 9, "losses": 4, "n": n, "undefined": 0}


def listed(*rows):
    return pd.DataFrame(rows, columns=graph_list_table.COLUMNS)


def title_of(chart):
    return " ".join(spec_of(chart, "graph_lists")["title"]["text"]).replace("\xa0", " ")


def notes_of(chart):
    return " | ".join(spec_of(chart, "graph_lists")["title"]["subtitle"]).replace("\xa0", " ")


def marks_of(chart):
    """{(data set, measure, row's name): row} of everything that is drawn."""
    rows = [r for data in spec_of(chart, "graph_lists")["datasets"].values() for r in data if "estimate" in r]
    return {(r["dataset"], r["measure"], r["name"]): r for r in rows}


def measured(gain, n=40, rankers=("graph", "dense"), seed=0, halves=(0, 1)):
    """Per-question measures in which the graph list is ``gain`` above the dense one in every measure, give or take."""
    rng = np.random.default_rng(seed)
    out = []
    for q in range(n):
        base, noise = rng.uniform(0.3, 0.6), rng.normal(0, 0.05)
        for ranker in rankers:
            value = base + (gain + noise if ranker == "graph" else 0)
            out.append(dict(dataset="d", qid=f"q{q:03d}", ranker=ranker, **dict.fromkeys(MEASURES, value), n_hops=2, half=halves[q % len(halves)]))
    return pd.DataFrame(out)


def compared(*args, **kwargs):
    return graph_list_table.compared(measured(*args, **kwargs), "sample", resamples=1000)


@pytest.mark.parametrize("gain, title, said", [
    (0.2, "more gold (+", "half 1 confirms half 0"), (-0.2, "less gold (−", "half 1 confirms half 0"), (0.0, "gold undecided (", "undecided")])
def test_title_and_answer_say_what_the_questions_say(gain, title, said):
    table = compared(gain)
    assert f"The first 5 of the graph list against the dense list's: {title}" in title_of(figures_graph.graph_lists(table))
    answer = wording_graph.lists_answer(table)
    assert said in answer and f"n = {len(measured(gain)) // 2}" in answer
    estimate = table.query("half == 'all' and ranker == 'graph' and minus == 'dense' and measure == 'recall_at_5'")["estimate"].item()
    assert f"recall@5 {'−' if estimate < 0 else '+'}{abs(100 * estimate):.1f} points [" in answer
    assert ("No clear gain" in answer) == (gain <= 0)
    assert ("undecided" in answer) == (gain == 0) and (", a loss)" in answer) == (gain < 0)


def test_title_of_several_sets_by_hand():
    rows = [row("2wiki"), row("hotpotqa"), row("musique", p_holm=0.2), row("2wiki", "last_hop_hit_at_5", -0.1, -0.2, -0.01),
            row("musique", "last_hop_hit_at_5", 0.1, -0.1, 0.3)]
    chart = figures_graph.graph_lists(listed(*rows), "real")
    assert title_of(chart) == ("The first 5 of the graph list against the dense list's: more gold on 2WikiMultiHopQA and HotpotQA, gold undecided on MuSiQue; "
                               "fewer last hops on 2WikiMultiHopQA, last hops undecided on MuSiQue")
    marks = marks_of(chart)
    filled = {key for key, r in marks.items() if r["fill"] == r["colour"]}
    assert filled == {("2wiki", "recall_at_5", "graph"), ("hotpotqa", "recall_at_5", "graph"), ("2wiki", "last_hop_hit_at_5", "graph")}
    assert len(marks) == 5 and [b["title"]["text"] for b in spec_of(chart, "g")["vconcat"]] == ["2WikiMultiHopQA", "HotpotQA", "MuSiQue"]


def test_rows_are_the_lists_half_1_and_the_numbers_of_hops_with_enough_questions():
    rows = [row(), row(half="0"), row(half="1", low=-0.1, estimate=0.0, n=50), row(hops=2, n=60), row(hops=3, n=10), row(hops=4, n=9),
            row(ranker="bm25", estimate=-0.1, low=-0.2, high=-0.05), row(ranker="bm25", hops=2), row(measure="all_gold_at_5"),
            row(ranker="dense") | {"minus": "none"}]
    chart = figures_graph.graph_lists(listed(*rows), "real")
    assert [name for _, _, name in marks_of(chart)] == ["graph", "half 1 alone", "2 hops", "3 hops", "bm25"]
    assert "Left out, fewer than 10 questions: 4 hops (recall@5)" in notes_of(chart)
    assert "Not shown on half 1 alone: recall@5 on MuSiQue" in notes_of(chart)
    assert "n = 10 to 100 questions a row" in notes_of(chart) and "real tier" in notes_of(chart)
    both = listed(*rows, row(hops=4, n=9, measure="last_hop_hit_at_5"), row("2wiki"))
    assert "4 hops (recall@5, last hop in the first 5; MuSiQue)" in notes_of(figures_graph.graph_lists(both))
    shuffled = listed(*rows).sample(frac=1, random_state=1)
    assert spec_of(figures_graph.graph_lists(shuffled, "real"), "g") == spec_of(chart, "g"), "the order of rows changes nothing"


def test_answer_by_hand():
    rows = [row(estimate=0.086, low=0.043, high=0.131), row(half="0", estimate=0.162, low=0.098, high=0.226),
            row(half="1", estimate=0.018, low=-0.039, high=0.076),
            row(measure="last_hop_hit_at_5", estimate=0.081, low=0.012, high=0.15, p_holm=0.3),
            row(measure="last_hop_hit_at_1", estimate=-0.03, low=-0.05, high=-0.01, p_holm=0.3),
            row(hops=4, n=30, estimate=0.058, low=-0.017, high=0.134), row(hops=3, n=9, estimate=-0.2, low=-0.4, high=0.1), row(hops=2, n=30),
            row(ranker="iterative", estimate=0.113, low=0.08, high=0.151), row(ranker="bm25", estimate=0.01, low=-0.1, high=0.1)]
    assert wording_graph.lists_answer(listed(*rows)) == (
        "The graph list against the dense list on MuSiQue: recall@5 +8.6 points [+4.3, +13.1] (n = 100, half 1 does not confirm half 0: "
        "+1.8 points [−3.9, +7.6]) and last hop in the first 5 +8.1 points [+1.2, +15.0] (n = 100, not after Holm). "
        "No clear gain: last hop in first place (−3.0 points [−5.0, −1.0], a loss before Holm); 4 hops (recall@5 +5.8). "
        "Larger gains on average: iterative (recall@5 +11.3).")


def test_half_1_that_turns_is_no_confirmation():
    rows = [row(estimate=0.0, low=-0.1, high=0.1), row(half="0"), row(half="1", estimate=-0.1, low=-0.2, high=-0.05)]
    assert "undecided, half 1 does not confirm half 0: −10.0 points [−20.0, −5.0]" in wording_graph.lists_answer(listed(*rows))
    rows[1] |= {"ci_low": -0.1}
    assert "half 0 undecided, half 1 −10.0 points" in wording_graph.lists_answer(listed(*rows))


def test_several_sets_are_named():
    rows = [row("2wiki"), row("musique"), row("2wiki", hops=4, low=-0.1), row("musique", hops=4, estimate=-0.1, low=-0.2, high=-0.05)]
    answer = wording_graph.lists_answer(listed(*rows))
    assert answer == (
        "- The graph list against the dense list on 2WikiMultiHopQA: recall@5 +10.0 points [+5.0, +15.0] (n = 100). No clear gain: 4 hops (recall@5 +10.0).\n"
        "- The graph list against the dense list on MuSiQue: recall@5 +10.0 points [+5.0, +15.0] (n = 100). No clear gain: 4 hops (recall@5 −10.0 points "
        "[−20.0, −5.0], a loss).")


@pytest.mark.parametrize("table", [listed(), compared(0.1, rankers=("graph",)), compared(0.1, n=1), compared(np.nan, rankers=("graph", "bm25")),
                                   graph_list_table.compared(measured(0.1).assign(**dict.fromkeys(MEASURES, np.nan)), "sample", resamples=50)],
                         ids=["no rows", "no dense list", "one question", "two lists, none dense", "no gold"])
def test_nothing_to_draw_is_said(table):
    with pytest.raises(NothingToDraw):
        figures_graph.graph_lists(table)
    assert wording_graph.lists_answer(table).startswith("No question has gold passages in both")


def test_little_is_drawn_as_it_is():
    only = compared(0.2, rankers=("bm25", "dense"))
    assert "There is no graph list" in title_of(figures_graph.graph_lists(only)) and wording_graph.lists_answer(only).startswith("No question")
    flat = figures_graph.graph_lists(listed(row(estimate=0.0, low=0.0, high=0.0, p_holm=1.0)))
    assert "gold undecided (0.0 points)" in title_of(flat) and "Shaded" not in notes_of(flat) and "Half" not in notes_of(flat)
    bare = figures_graph.graph_lists(listed(row(half="0")))
    assert "half 0" in notes_of(bare) and "[+5.0, +15.0] (n = 100)" in wording_graph.lists_answer(listed(row(half="0")))
    one_half = compared(0.2, halves=(0,))
    assert "half 1 alone" not in {name for _, _, name in marks_of(figures_graph.graph_lists(one_half))} and "half 1" not in wording_graph.lists_answer(one_half)
    with pytest.raises(ChartError, match="p_holm"):
        figures_graph.graph_lists(compared(0.2).drop(columns="p_holm"))
    with pytest.raises(ChartError, match="one tier"):
        figures_graph.graph_lists(pd.concat([only, only.assign(tier="real")]))


def ablations(half_0, half_1=None, dataset="ondrell"):
    rows = [dict(dataset=dataset, half=half, choice=choice, chosen_by=value, **dict.fromkeys(MEASURES, value), n=40, fell_back=0)
            for half, values in (("0", half_0), ("1", half_1 or {})) for choice, value in values.items()]
    return pd.DataFrame(rows, columns=["dataset", "half", "choice", "chosen_by", *MEASURES, "n", "fell_back"])


def test_ablations_by_hand():
    table = ablations({"as chosen": 0.5, "damping 0.5": 0.44, "topic False": 0.53, "relation 0.0": 0.51},
                      {"as chosen": 0.6, "damping 0.5": 0.58, "topic False": 0.55, "relation 0.0": 0.66})
    assert wording_graph.ablation_words(table) == (
        "On the sample corpus, of 3 single changes, topics off helps most (+3.0 points on half 0, −5.0 on half 1: half 1 does not agree); "
        "*damping* 0.5 in place of 0.85 harms most (−6.0 points on half 0, −2.0 on half 1: half 1 agrees); "
        "relation edges off: +1.0 points on half 0, +6.0 on half 1: half 1 agrees. "
        "The best and the worst of 3 tries on the same 40 questions look larger than they are; 2 of 3 point the same way on half 1. "
        "Measured by the mean of recall@5 and last hop in the first 5; no intervals, so look for halves that agree.")
    assert wording_graph.ablation_words(table.sample(frac=1, random_state=0)) == wording_graph.ablation_words(table)


@pytest.mark.parametrize("half_0, half_1, said, unsaid", [
    ({"as chosen": 0.5, "relation 0.0": 0.6}, {},
     "of 1 single change, relation edges off helps most (+10.0 points on half 0, half 1 is not there); no change harms.", "tries"),
    ({"as chosen": 0.5, "relation 0.0": 0.5, "synonym 1.1": 0.5}, {"as chosen": 0.5, "relation 0.0": 0.5, "synonym 1.1": 0.5},
     "no change helps; no change harms; relation edges off: 0.0 points on half 0, 0.0 on half 1: neither half moves", "most"),
    ({"relation 0.0": 0.5}, {}, "stays open", "points"), ({"as chosen": np.nan, "relation 0.0": np.nan}, {}, "stays open", "points"),
    ({"as chosen": 0.5}, {}, "stays open", "points"),
], ids=["one change", "nothing moves", "no list as chosen", "no gold", "no change"])
def test_few_ablations(half_0, half_1, said, unsaid):
    words = wording_graph.ablation_words(ablations(half_0, half_1))
    assert said in words and unsaid not in words
    assert wording_graph.ablation_words(ablations({})).endswith("stays open.")


def test_a_change_is_named_beside_what_was_chosen():
    names = {wording_graph.change(", ".join(f"{k} {v}" for k, v in changed.items())) for changed in graph_list_table.VARIANTS[1:]}
    assert len(names) == len(graph_list_table.VARIANTS) - 1 and not any("_" in n or "False" in n for n in names), names
    assert wording_graph.change("damping 0.5, topic False") == "damping 0.5, topic False"
