"""Figures: titles say what the table says, no label overlaps, colours hold in grey, and a saved figure is the same bytes each time."""
import itertools
import json
import re
import xml.etree.ElementTree as ET

import altair as alt
import numpy as np
import pandas as pd
import pytest

from lib import chart_words as words
from lib import charts, tables
from lib.figures_claims import published_beside_ours
from lib.figures_effects import forest
from lib.figures_example import worked_example
from lib.figures_means import conditional_means, dot_rows
from lib.figures_packing import survival_curve
from lib.figures_stages import retrieval_lines, waterfall

CEILING = {"estimate": 0.88, "low": 0.84, "high": 0.92}


def interval(estimate, half=0.05, **columns):
    return {**columns, "estimate": estimate, "ci_low": estimate - half, "ci_high": estimate + half, "n": 200}


def curve(submod=0.67, half=0.02):
    at = {"naive": 0.57, "focused": 0.62, "mmr": 0.58, "submod": submod, "random": 0.3}
    return pd.DataFrame([interval(v + (b - 160) / 800, half, policy=p, budget=b) for p, v in at.items() for b in (96, 128, 160, 224)])


def contrasts(*rows, **columns):
    return pd.DataFrame([{"treatment": "submod", "control": c, "metric": "f1", "delta": (a + b) / 2, "ci_low": a, "ci_high": b, "n": 200,
                          "tier": "sample", **columns} for c, a, b in rows])


def chain(shares=(0.96, 0.88, 0.67, 0.36)):
    df = pd.DataFrame({"stage": ["corpus", "pool", "context", "read"], "order": [1, 2, 3, 4], "share": shares})
    return df.assign(lost=df["share"].shift(fill_value=1.0) - df["share"], ci_low=df["share"] - 0.04, ci_high=df["share"] + 0.04, n=180)


def rankings(half=0.05):
    return pd.DataFrame([interval(0.5 + 0.04 * k + 0.05 * (r == "dense"), half, scope=s, ranker=r, measure=f"{m}_at_{k}")
                         for s, r, m, k in itertools.product(("own", "pooled"), ("dense", "bm25"), ("recall", "all_gold"), (1, 5, 10))])


def conditions(with_, without):
    return pd.DataFrame([interval(v, holds=h, policy=p) for p in ("naive", "submod") for h, v in ((1, with_), (0, without))])


def claims():
    rows = [("F1", "score", 0.051, 0.11, 0.09, 0.13, 1500, "differs"), ("gain", "difference", 0.022, 0.02, 0.00, 0.04, 1500, "reproduced"),
            ("tokens", "score", 145.5, None, None, None, None, "not run")]
    named = pd.DataFrame(rows, columns=["claim", "kind", "published", "ours", "ci_low", "ci_high", "n", "verdict"])
    return named.assign(label="our " + named["claim"])


def question():
    snippets = pd.DataFrame([{"doc_rank": d, "title": f"Title {d}", "position": p, "n_tokens": 40, "is_gold": d == 2,
                              "holds_answer": (d, p) == (2, 1), "snippet_id": f"d{d}:{p}", "text": f"text {d} {p} says Velmora"}
                             for d in (1, 2, 3) for p in (0, 1)])
    packs = pd.DataFrame({"policy": ["naive", "naive", "submod", "submod"], "snippet_id": ["d1:0", "d1:1", "d2:1", "d1:0"]})
    return snippets, packs


def example(snippets=None, packs=None):
    s, p = question()
    return worked_example("Where?", "Velmora", s if snippets is None else snippets, p if packs is None else packs)


FIGURES = {
    "survival_curve": lambda: survival_curve(curve(), CEILING, "sample"), "worked_example": example, "waterfall": lambda: waterfall(chain()),
    "forest": lambda: forest(contrasts(("naive", 0.01, 0.05), ("mmr", -0.02, 0.03)), margin=0.02),
    "dot_rows": lambda: dot_rows(curve().query("budget == 160"), "answer_in_context"),
    "dot_rows in two data sets": lambda: dot_rows(pd.concat([curve().query("budget == 160").assign(dataset=d) for d in "ab"]), "f1"),
    "published_beside_ours": lambda: published_beside_ours(claims()), "retrieval_lines": lambda: retrieval_lines(rankings()),
    "conditional_means": lambda: conditional_means(conditions(0.6, 0.1)),
}


def title_of(chart) -> str:
    text = chart.to_dict()["title"]["text"]
    return text if isinstance(text, str) else " ".join(text)


def said(chart) -> str:
    return title_of(chart).replace(words.GAP, " ")


def labels(chart) -> set[str]:
    return set(re.findall(r">([^<>]+)</text>", svg_of(chart)))


def svg_of(chart) -> str:
    import vl_convert
    return vl_convert.vegalite_to_svg(charts.spec_of(chart, "test"))


# ---- every figure

@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_fits_a_readme_and_states_n_and_tier(name):
    chart = FIGURES[name]()
    root = ET.fromstring(svg_of(chart))
    assert 300 < float(root.get("width")) <= 765
    notes = " ".join(chart.to_dict()["title"]["subtitle"])
    assert "n = " in notes and "interval" in notes and ("tier" in notes or name == "worked_example")


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_without_a_legend_and_without_a_missing_number(name):
    drawn = svg_of(FIGURES[name]())
    assert "role-legend" not in drawn
    assert not re.search(r"NaN|undefined|null", drawn)


@pytest.mark.parametrize("name", FIGURES)
def test_every_text_of_a_figure_can_be_read_in_any_font_of_the_stack(name):
    fonts = set(re.findall(r'font-family="([^"]*)"', svg_of(FIGURES[name]())))
    assert fonts == {charts.FONT}
    assert charts.FONT.endswith("sans-serif")


# ---- titles: wins, loses, undecided

@pytest.mark.parametrize("submod, expected", [(0.67, "carries more answers into the context than naive: 67 % against 57 %"),
                                              (0.45, "carries fewer answers into the context than naive: 45 % against 57 %"),
                                              (0.58, "too close to call")])
def test_survival_curve_says_what_the_table_says(submod, expected):
    assert expected in said(survival_curve(curve(submod), CEILING))


@pytest.mark.parametrize("measure, expected", [("answer_in_context", "where no answer is defined it counts as lost"),
                                               ("answer_in_context_defined", "questions with a defined answer")])
def test_survival_curve_says_which_questions_count(measure, expected):
    notes = survival_curve(curve().assign(measure=measure, dataset="ondrell"), CEILING, "sample").to_dict()["title"]["subtitle"]
    assert expected in notes[0]
    assert notes[1].startswith("ondrell · n = 200 questions") and notes[1].endswith("sample tier")


def test_points_lost_are_those_of_the_printed_shares():
    drawn = labels(survival_curve(curve(0.6749, half=0.02), {"estimate": 0.8851, "low": 0.85, "high": 0.92}))
    assert "submod still loses 22 points in packing" in drawn  # 89 % - 67 %, although 88.51 - 67.49 is nearer to 21


@pytest.mark.parametrize("budgets, at_least", [((96, 128, 160, 224), 4 * 3), ((160,), 5)])
def test_every_policy_has_its_interval_even_at_one_budget(budgets, at_least):
    spec = charts.spec_of(survival_curve(curve()[curve()["budget"].isin(budgets)], CEILING), "curve")
    bars = next(layer for layer in spec["layer"] if layer["encoding"].get("x", {}).get("field") == "beside")
    band = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "area")
    rows = spec["datasets"][bars["data"]["name"]] + (spec["datasets"][band["data"]["name"]] if len(budgets) > 1 else [])
    assert {row["policy"] for row in rows} == set(curve()["policy"])
    assert len(rows) >= at_least


def test_a_paired_contrast_decides_where_separate_intervals_cannot():
    wide = curve(0.62, half=0.08)
    assert "too close to call" in said(survival_curve(wide, CEILING))
    assert "more answers" in said(survival_curve(wide, CEILING, contrast={"delta": 0.05, "ci_low": 0.01, "ci_high": 0.09}))


def test_forest_names_what_it_beats_loses_to_and_cannot_tell():
    chart = forest(contrasts(("naive", 0.01, 0.05), ("focused", -0.09, -0.02), ("mmr", -0.04, 0.03)))
    assert said(chart) == "On F1, submod beats naive; it loses to focused; it cannot be told from mmr"
    assert {"+0.030 [+0.010, +0.050]", "−0.055 [−0.090, −0.020]"} <= {re.sub(r"\s+", " ", t) for t in labels(chart)}


def test_forest_calls_equivalent_only_what_lies_within_the_margin():
    narrow, wide = contrasts(("mmr", -0.01, 0.015)), contrasts(("mmr", -0.01, 0.025))
    assert "is equivalent to mmr within ±0.02" in said(forest(narrow, margin=0.02))
    assert "cannot be told from mmr" in said(forest(wide, margin=0.02))
    assert "cannot be told from mmr" in said(forest(narrow))


def test_forest_counts_over_readers():
    rows = pd.concat([contrasts(("focused", a, b), reader=r) for r, a, b in (("3b", 0.002, 0.04), ("7b", -0.03, 0.01), ("14b", -0.05, -0.01))])
    assert said(forest(rows)) == "submod against focused on F1: better in 1 (3b), worse in 1 (14b), undecided in 1 (7b)"


@pytest.mark.parametrize("half, expected", [(0.02, "among packers submod leads with 0.670, clear of the rest"),
                                            (0.03, "among packers submod leads with 0.670, too close to focused to call"),
                                            (0.09, "among packers submod leads with 0.670, too close to 3 others to call")])
def test_dot_rows_names_the_leader_and_who_is_near(half, expected):
    assert said(dot_rows(curve(half=half).query("budget == 160"), "f1")) == f"F1: {expected}"


def test_an_arm_that_knows_the_answer_never_leads():
    table = pd.concat([curve().query("budget == 160"), pd.DataFrame([interval(0.99, policy="oracle"), interval(0.98, policy="gold")])])
    assert "submod leads" in said(dot_rows(table, "f1"))


@pytest.mark.parametrize("with_, without, expected", [(0.6, 0.1, "F1 is 0.60 with the answer in context, 0.10 without: higher in every row"),
                                                      (0.3, 0.28, "undecided in 2 of 2"), (0.1, 0.6, "lower in 2 of 2")])
def test_conditional_means_wins_loses_undecided(with_, without, expected):
    assert expected in said(conditional_means(conditions(with_, without)))


def test_waterfall_names_the_largest_loss_and_its_printed_losses_add_up():
    chart = waterfall(chain())
    assert said(chart) == "Of 100 answers 31 are lost in reading, the largest of 4 losses; 36 come out right"
    losses = [int(t[1:]) for t in labels(chart) if re.fullmatch(r"−\d+", t)]
    assert sum(losses) == 100 - 36


@pytest.mark.parametrize("shares", [(1.0, 1.0, 1.0, 1.0), (0.994, 0.986, 0.014, 0.006)])
def test_waterfall_holds_at_its_limits(shares):
    losses = [int(t[1:]) for t in labels(waterfall(chain(shares))) if re.fullmatch(r"−\d+", t)]
    assert sum(losses) == 100 - round(100 * shares[-1])


def test_retrieval_lines_report_the_cutoff_nearest_five():
    assert said(retrieval_lines(rankings(0.01))) == ("recall at 5 reaches 75 % with dense in scope own and 75 % with dense in scope pooled; "
                                                     "clear of the other rankers in own and pooled")
    assert said(retrieval_lines(rankings(0.05))).endswith("no ranker is clear of the others")


def test_published_beside_ours_counts_verdicts_and_parts_kinds():
    chart = published_beside_ours(claims())
    assert said(chart) == "3 published numbers: 1 reproduced, 1 differs and 1 not run"
    assert {"scores, shares and correlations", "differences", "counts and tokens", "145.5"} <= labels(chart)
    small = claims().query("claim == 'F1'")
    assert "differences" not in labels(published_beside_ours(pd.concat([small, claims().tail(1)])))  # a score stays a score however small


# ---- the worked example

def test_worked_example_says_who_keeps_the_answer():
    chart = example()
    assert said(chart) == "Retrieval found the answer: within 160 tokens submod keeps it; naive loses it"
    assert {"answer found", "answer kept", "answer lost", "80 of 160 tokens"} <= labels(chart)


@pytest.mark.parametrize("held, packed, expected", [([], [0, 1], "No retrieved snippet holds the answer"), ([0], [0, 1], "every packer keeps it"),
                                                    ([5], [0, 1], "no packer keeps it")])
def test_worked_example_in_the_other_cases(held, packed, expected):
    snippets, packs = question()
    snippets["holds_answer"] = [i in held for i in range(len(snippets))]
    assert expected in said(example(snippets, packs.iloc[[0, 3]]))


def test_worked_example_refuses_a_pack_of_another_question():
    packs = pd.DataFrame({"policy": ["naive"], "snippet_id": ["elsewhere:0"]})
    with pytest.raises(charts.ChartError, match=r"elsewhere:0.*one question and one pool_id"):
        example(packs=packs)


# ---- labels that do not overlap

@pytest.mark.parametrize("seed", range(30))
def test_nudged_labels_keep_order_distance_and_bounds(seed):
    rng = np.random.default_rng(seed)
    values, gap = rng.choice([rng.random(), 0.5, 0.52, 0.9, 1.0], size=8).tolist(), 0.04
    places = words.nudge(values, gap, 0.0, 1.0)
    order = sorted(range(8), key=lambda i: (values[i], i))
    assert all(places[b] - places[a] >= gap - 1e-6 for a, b in itertools.pairwise(order))
    assert min(places) >= -1e-9 and max(places) <= 1 + 1e-9


def test_labels_far_apart_stay_where_they_are():
    assert words.nudge([0.9, 0.1, 0.5], gap=0.05) == [0.9, 0.1, 0.5]


def test_titles_wrap_to_the_fewest_lines():
    text = "word " * 30
    lines = words.wrapped(text.strip(), 72)
    assert len(lines) == 3 and max(map(len, lines)) <= 72
    assert " ".join(lines) == text.strip()


@pytest.mark.parametrize("low, high, expected", [(0.0, 0.1, "undecided"), (1e-9, 0.1, "wins"), (-0.1, 0.0, "undecided"), (-0.1, -1e-9, "loses")])
def test_an_interval_that_touches_zero_decides_nothing(low, high, expected):
    assert words.verdict(low, high) == expected


@pytest.mark.parametrize("value, expected", [(0.0, "0.000"), (-0.0001, "0.000"), (-0.0204, "−0.020"), (0.5, "+0.500")])
def test_signed_numbers(value, expected):
    assert words.signed(value) == expected


# ---- colours

def lab(colour: str, blind: np.ndarray | None = None) -> np.ndarray:
    """CIE L*a*b* of a colour, as seen with the given (Machado 2009) colour-blindness matrix."""
    share = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    linear = linear if blind is None else np.clip(blind @ linear, 0, 1)
    xyz = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]) @ linear / [0.9505, 1, 1.0888]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


BLIND = {"none": np.eye(3), "deuteranopia": np.array([[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]),
         "protanopia": np.array([[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]]),
         "tritanopia": np.array([[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]])}


@pytest.mark.parametrize("eye", BLIND)
def test_the_published_packers_differ_to_every_eye_and_in_grey(eye):
    seen = [lab(charts.LOOKS[p].colour, BLIND[eye]) for p in charts.PUBLISHED]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 12
    if eye == "none":
        assert min(abs(a[0] - b[0]) for a, b in itertools.combinations(seen, 2)) > 5


def test_each_policy_has_its_own_colour_dash_and_shape():
    for part in ("colour", "dash", "shape"):
        kinds = [str(getattr(charts.LOOKS[p], part)) for p in (charts.LOOKS if part != "dash" else charts.PUBLISHED)]
        assert len(set(kinds)) == len(kinds)
    assert set(charts.LOOKS) == {"naive", "focused", "mmr", "submod", "tuned", "topk", "random", "gold", "oracle", "closed_book",
                                 "ace_submod", "ace_focused", "ace_mmr", "ace_naive", "adagres", "selective"}


@pytest.mark.parametrize("colour", [look.colour for look in charts.LOOKS.values()] + [charts.MUTED, charts.INK])
def test_names_written_in_a_colour_can_be_read_on_white(colour):
    y = ((lab(colour)[0] + 16) / 116) ** 3
    assert 1.05 / (y + 0.05) > 2.8


def test_a_policy_keeps_its_colour_whoever_else_is_drawn():
    alone = charts.scale_of("colour", ["mmr"]).to_dict()["range"]
    among = charts.scale_of("colour", ["naive", "mmr", "gold"]).to_dict()["range"]
    assert alone[0] == among[1] == charts.LOOKS["mmr"].colour


# ---- tables that do not fit

@pytest.mark.parametrize("draw, found", [
    (lambda: survival_curve(curve().drop(columns="ci_low"), CEILING), r"survival_curve: columns \['ci_low'\] are missing"),
    (lambda: survival_curve(curve().iloc[:0], CEILING), "has no rows"),
    (lambda: survival_curve(pd.concat([curve(), curve()]), CEILING), "several rows at one budget"),
    (lambda: survival_curve(curve(), CEILING, budget=150), r"no row at budget 150"),
    (lambda: survival_curve(curve().assign(estimate=np.nan), CEILING), r"missing in \['estimate'\]"),
    (lambda: dot_rows(pd.concat([curve()] * 300), "f1"), r"6,000 rows, a figure takes at most 5,000; summarise first"),
    (lambda: dot_rows(curve().assign(measure="em"), "f1"), "dot_rows of 'f1': the table has no rows"),
    (lambda: waterfall(chain().assign(lost=0.1)), "lost is not the fall in share at stage 'read': share falls by 0.3100, lost says 0.1000"),
    (lambda: waterfall(pd.concat([chain(), chain()])), "stage 'corpus' repeats"),
    (lambda: forest(pd.concat([contrasts(("mmr", 0.1, 0.2)), contrasts(("mmr", 0.1, 0.2), metric="em")])), "one metric at a time"),
    (lambda: forest(contrasts(("mmr", 0.1, 0.2), ("mmr", 0.1, 0.3))), "several rows are called 'submod − mmr'"),
    (lambda: conditional_means(conditions(0.6, 0.1).query("holds == 1")), "one value where the condition holds"),
    (lambda: retrieval_lines(rankings().assign(measure="mrr")), r"no measure has a cutoff.*\['mrr'\]"),
    (lambda: published_beside_ours(claims().assign(verdict="fine")), r"verdicts \['fine'\] are unknown"),
])
def test_a_table_that_does_not_fit_is_refused_with_a_mend(draw, found):
    with pytest.raises(charts.ChartError, match=found):
        draw()


def test_a_table_as_the_store_reads_it_draws_the_same_figure():
    plain = curve()
    typed = plain.astype({"policy": "string", "budget": "Int64", "n": "Int64"})
    assert svg_of(survival_curve(typed, CEILING)) == svg_of(survival_curve(plain, CEILING))


def test_row_order_of_the_table_does_not_change_the_figure():
    assert svg_of(survival_curve(curve().sample(frac=1, random_state=3), CEILING)) == svg_of(survival_curve(curve(), CEILING))


def test_last_bits_of_a_sum_do_not_change_the_figure():
    shaken = curve().assign(estimate=lambda d: d["estimate"] * (1 + 1e-13))
    assert charts.spec_of(survival_curve(shaken, CEILING), "a") == charts.spec_of(survival_curve(curve(), CEILING), "a")


def test_a_policy_without_a_look_of_its_own_is_still_drawn():
    table = pd.concat([curve(), curve().query("policy == 'mmr'").assign(policy="mine")])
    assert any(label.startswith("mine") for label in labels(survival_curve(table, CEILING)))


# ---- saving

@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    return tmp_path / "figures" / "sample"


def test_a_saved_figure_is_the_same_bytes_each_time(home):
    charts.save(FIGURES["survival_curve"](), "curve", "sample")
    first = {p.name: p.read_bytes() for p in home.iterdir()}
    alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x").interactive().to_dict()  # moves Altair's own counter of names
    charts.save(FIGURES["survival_curve"](), "curve", "sample")
    assert {p.name: p.read_bytes() for p in home.iterdir()} == first
    assert set(first) == {"curve.vl.json", "curve.svg"}


def test_names_that_altair_counts_up_do_not_reach_the_file(home):
    def moving():
        return alt.layer(alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q").add_params(alt.selection_point(name="pick")))
    a, b = charts.spec_of(moving(), "a"), charts.spec_of(moving(), "b")
    assert a == b


def test_a_saved_figure_holds_its_data_and_our_theme(home):
    chart = FIGURES["forest"]()
    assert charts.save(chart, "forest", "sample") is chart
    spec = json.loads((home / "forest.vl.json").read_text())
    assert spec["datasets"] and spec["config"]["font"] == charts.FONT
    assert list(spec) == sorted(spec)
    assert b"http" not in (home / "forest.svg").read_bytes().replace(b"http://www.w3.org", b"")


def test_a_failed_save_leaves_the_old_figure(home, monkeypatch):
    charts.save(FIGURES["forest"](), "forest", "sample")
    before = (home / "forest.vl.json").read_bytes()

    def full(path, content):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(charts, "_write_text", full)
    with pytest.raises(OSError, match=r"could not write figures/sample/forest.vl.json.*Free some space"):
        charts.save(FIGURES["waterfall"](), "forest", "sample")
    assert (home / "forest.vl.json").read_bytes() == before
    assert sorted(p.name for p in home.iterdir()) == ["forest.svg", "forest.vl.json"]


def test_saving_refuses_a_figure_of_raw_rows(home):
    raw = alt.Chart(pd.DataFrame({"x": range(5_001)})).mark_point().encode(x="x:Q")
    with pytest.raises(charts.ChartError, match="5,001 rows"):
        charts.save(raw, "raw", "sample")
    assert not home.exists()


def test_saving_refuses_data_from_elsewhere(home):
    with pytest.raises(charts.ChartError, match="points to data outside itself"):
        charts.save(alt.Chart("rows.csv").mark_point().encode(x="x:Q"), "elsewhere", "sample")


def test_importing_the_library_changes_nobody_elses_charts_until_use_is_called():
    before, renderer = alt.theme.active, alt.renderers.active
    try:
        charts.use()
        assert (alt.theme.active, alt.renderers.active) == ("survival", "svg")
        assert alt.data_transformers.options.get("max_rows", 5_000) == 5_000
    finally:
        alt.theme.enable(before)
        alt.renderers.enable(renderer)
    FIGURES["forest"]()
    assert alt.theme.active == before
