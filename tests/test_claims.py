"""The claims register: its verdicts, and its filters on a small invented run (its facts and the plan: test_published.py)."""
import numpy as np
import pandas as pd
import pytest

from lib import claims, correlations, diagnostics, headroom, intervention, retrieval_perfect, summaries, tables, validity

FACTS, PLAN = claims.published(), claims.plan()
READER = "invented-0.5b"
POLICIES = ["naive", "focused", "mmr", "submod", "topk", "random"]


# --- verdicts ---------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("value, low, high, effect, expected", [
    (0.022, 0.002, 0.041, 0.022, "reproduced"),
    (0.022, -0.010, 0.060, 0.022, "inconclusive"),
    (0.022, 0.030, 0.040, 0.022, "differs"),
    (0.022, 0.030, 9.000, 0.022, "differs"),        # outside however wide
    (-0.029, -0.052, -0.006, 0.029, "reproduced"),  # the effect is a size, the value keeps its sign
    (0.3, 0.1 + 0.2, 0.5, 1, "reproduced"),         # on the end, but for the last bit
    (0.5, 0.1, 0.5, 1, "reproduced"),               # on the other end
    (0.0, -0.02, 0.02, 0.02, "reproduced"),         # half-width equals the effect
    (0.0, -0.0201, 0.0201, 0.02, "inconclusive"),
    (1.0, 1.0, 1.0, 0.1, "reproduced"),             # an interval without width
    (0.999, 1.0, 1.0, 0.1, "differs"),
])
def test_verdict(value, low, high, effect, expected):
    assert claims.verdict(value, low, high, effect) == expected


@pytest.mark.parametrize("numbers", [(np.nan, 0, 1, 1), (0.5, np.nan, 1, 1), (0.5, 0, np.nan, 1), (0.5, 0, 1, np.nan), (0.5, 1, 0, 1), (0.5, 0, 1, 0),
                                     (0.5, 0, np.inf, 1)])
def test_a_verdict_is_never_given_on_half_the_numbers(numbers):
    with pytest.raises(ValueError, match="a verdict needs numbers"):
        claims.verdict(*numbers)


def test_a_wider_interval_never_turns_into_reproduced():
    order = [claims.verdict(0.02, 0.02 - w, 0.02 + w, 0.03) for w in (0, 0.01, 0.03, 0.05, 1)]
    assert order == ["reproduced"] * 3 + ["inconclusive"] * 2


# --- the register on a small invented run --------------------------------------------------------------------------------------------------

def invented_outcomes(dataset="hotpotqa", n=60, pack_id="own-dense-5.chunk", reader=READER, precision="fp32") -> pd.DataFrame:
    """A question in five is yes/no (undefined); F1 follows answer_in_context; at 96 and 224 tokens only question 0 shares a read context."""
    rng, rows = np.random.default_rng(7), []
    for i in range(n):
        for policy in POLICIES:
            for budget in (96, 160, 224):
                defined, read = i % 5 > 0, budget == 160 or i == 0
                kept = int(defined and rng.random() < 0.6)
                em = float(rng.random() < (0.7 if kept else 0.1)) if read else np.nan
                rows.append({
                    "dataset": dataset, "qid": f"q{i}", "pack_id": pack_id, "policy": policy, "budget": budget, "slice": dataset, "half": i % 2,
                    "reader": reader if read else "none", "precision": precision if read else "none", "question_type": "bridge",
                    "em": em, "f1": em, "f1_raw": em, "answer_in_context": kept, "answer_in_context_spaced": kept, "answer_defined": defined,
                    "undefined_reason": "" if defined else "yes/no", "answer_in_pool": int(defined), "answer_in_corpus": int(defined),
                    "gold_coverage": rng.choice([0.5, 1.0]), "all_gold_in_context": float(kept), "gold_density": rng.random(),
                    "n_tokens": budget - int(rng.integers(20)), "n_snippets": 3, "recall_at_5": [0.5, 1.0, 1.0][i % 3],
                    "all_gold_at_5": [0.0, 1.0, 1.0][i % 3], "chosen": pd.NA})
    return pd.DataFrame(rows)


GIVEN = ["policies", "outcomes", "retrieval", "contrasts", "correlations", "conditional", "packing", "validity", "retrieval_perfect", "headroom",
         "intervention"]  # the tables that run_of makes


def run_of(outcomes: pd.DataFrame, reader=READER, tier="real", graph: pd.DataFrame | None = None, **changes) -> pd.DataFrame:
    """The register as notebook 04 makes it; ``graph`` are the outcomes of graph snippets."""
    r, measures = 100, ["f1", "em", "answer_in_context", "answer_in_context_defined", "gold_coverage", "all_gold_in_context", "n_tokens"]
    outcomes = tables.check(pd.concat([outcomes, diagnostics.oracle(outcomes, PLAN["published_arm"]["policies"])]), "outcomes")
    asked, whole = outcomes.drop_duplicates(["dataset", "qid"]), pd.concat([outcomes, graph])
    survived = whole[whole["policy"] != "oracle"].drop(columns=["half", "reader", "precision"])
    at_160 = outcomes[outcomes["budget"] == 160]
    held = asked[["dataset", "qid"]].assign(doc_id="a", rank=1, is_gold=True, holds_answer=asked["answer_defined"].astype(int))
    lists = asked[["dataset", "qid", "recall_at_5", "all_gold_at_5"]].assign(scope="own", ranker="dense")
    given = {"policies": summaries.means(whole, measures, tier, r), "outcomes": whole, "retrieval": summaries.ranking_means(lists, tier, r),
             "contrasts": summaries.contrasts(whole, PLAN["contrasts"], PLAN["metrics"], tier, r),
             "correlations": correlations.correlations(at_160, tier, resamples=r), "validity": validity.validity(at_160, tier, r, 50),
             "retrieval_perfect": retrieval_perfect.retrieval_perfect(at_160, held, tier, r), "headroom": headroom.headroom(at_160, tier, resamples=r),
             "intervention": intervention.intervention(outcomes, tier, resamples=r),
             "conditional": summaries.conditional_means(outcomes[outcomes["answer_defined"]], "answer_in_context", ["f1", "em"], tier, r),
             "packing": summaries.survival_means(asked[["dataset", "qid", "half"]], survived, tier, r)}
    return claims.register(tier, given, reader, resamples=r, **changes)


@pytest.fixture(scope="module")
def real():
    sets = ("hotpotqa", "2wiki", "musique")
    graph = pd.concat([invented_outcomes(d, pack_id="own-dense-5.ace").query("policy in ['focused', 'submod']") for d in sets])
    return run_of(pd.concat([invented_outcomes(d) for d in sets]), graph=graph).set_index("claim")


@pytest.fixture(scope="module")
def sample():
    return run_of(invented_outcomes("ondrell"), tier="sample").set_index("claim")


def test_the_register_fits_its_declaration_and_holds_every_fact(real):
    tables.check(real.reset_index(), "claims")
    assert list(real.index) == list(FACTS["claim"])
    figures, limits = real[real["kind"] != "limitation"], real[real["kind"] == "limitation"]
    assert set(figures["verdict"]) <= {*PLAN["verdicts"]} and set(limits["verdict"]) <= {*PLAN["limits"]}
    assert len(limits) > 10 and (limits["note"] != "").all()
    assert (real.loc[real["verdict"] == "not run", "note"] != "").all() and real.loc[real["verdict"] == "not run", "ours"].isna().all()


def test_every_filter_resolves_where_its_data_set_reader_and_budget_were_run(real):
    runnable = FACTS[(FACTS["table"] != "none") & (FACTS["kind"] != "limitation") & FACTS["table"].isin(GIVEN) & ~FACTS["dataset"].str.startswith("ragbench") & ~FACTS["where"].astype(str).str.contains("Instruct")
                     & ~FACTS["claim"].str.contains("budget96|budget128|budget224|share_of_submod_gain")]  # the last: a share of an undecided gain
    lost = real.loc[runnable["claim"]].query("verdict == 'not run'")
    assert lost.empty, lost["note"].to_dict()
    assert len(runnable) > 90


def test_verdicts_in_the_register_are_the_rule_applied_to_its_own_columns(real):
    for c in real[(real["verdict"] != "not run") & (real["kind"] != "limitation")].itertuples():
        assert c.verdict == claims.verdict(c.published, c.ci_low, c.ci_high, c.effect)
        assert c.difference == pytest.approx(c.ours - c.published)


def test_values_are_those_a_reader_would_compute_by_hand(real):
    o = invented_outcomes().query("budget == 160")
    four = o[o["policy"].isin(["naive", "focused", "mmr", "submod"])]
    f1 = o.pivot(index="qid", columns="policy", values="f1")
    by = four.groupby("answer_in_context")["f1"].mean()
    perfect = four[four["all_gold_at_5"] == 1]
    hand = {"headline_submod_f1": f1["submod"].mean(), "3b_submod_minus_focused_f1": (f1["submod"] - f1["focused"]).mean(),
            "seed42_submod_answer_in_context": o.loc[o["policy"] == "submod", "answer_in_context"].mean(),
            "hotpotqa_mean_f1_answer_not_in_context": by[0], "f1_gap_by_answer_in_context": by[1] - by[0],
            "r_hotpotqa_answer_in_context_f1": four["answer_in_context"].corr(four["f1"]),
            "share_of_those_that_drop_the_answer": 1 - perfect["answer_in_context"].mean(),
            "em_given_all_gold_answer_dropped": perfect.loc[perfect["answer_in_context"] == 0, "em"].mean(),
            "share_questions_chunk_submod_best_or_tied": (f1["submod"] >= f1[["naive", "focused", "mmr"]].max(axis=1)).mean(),
            "oracle_f1": f1[["naive", "focused", "mmr", "submod"]].max(axis=1).mean()}
    all_budgets = invented_outcomes().groupby(["policy", "budget"])["n_tokens"].sum()
    hand["submod160_tokens_saved_vs_focused224_pct"] = 100 * (1 - all_budgets["submod", 160] / all_budgets["focused", 224])
    assert {k: real.at[k, "ours"] for k in hand} == pytest.approx(hand)


def test_undefined_answers_count_0_in_what_is_compared_and_are_left_out_in_the_note(real):
    o = invented_outcomes().query("budget == 160 and policy == 'submod'")
    row = real.loc["seed42_submod_answer_in_context"]
    assert row["ours"] == pytest.approx(o["answer_in_context"].mean())
    assert f"over defined answers only: {o.loc[o['answer_defined'], 'answer_in_context'].mean():.3f}" in row["note"]
    assert "notebook 04's table (defined answers only)" in real.at["hotpotqa_mean_f1_answer_in_context", "note"]
    assert "with the oracle's rows" in real.at["r_hotpotqa_answer_in_context_f1", "note"]


def test_a_budget_read_only_where_contexts_coincide_is_not_compared(real):
    for claim in ("budget96_submod_f1", "budget224_submod_minus_focused_f1"):
        assert real.at[claim, "verdict"] == "not run"
        assert "read 1 of its 60 questions" in real.at[claim, "note"]
    assert real.at["budget160_submod_f1", "verdict"] != "not run"


def test_absent_data_sets_and_readers_are_named(real):
    assert "data set ragbench_covidqa is not part of this run" in real.at["covidqa_submod_minus_focused_f1", "note"]
    assert "no reader Qwen2.5-14B-Instruct" in real.at["14b_submod_minus_focused_f1", "note"]


def test_the_sample_corpus_stands_in_and_every_note_says_so(sample, real):
    compared = sample[(sample["verdict"] != "not run") & (sample["kind"] != "limitation")]
    assert len(compared) > 90 and (compared["compared_with"] == "ondrell").all()
    assert compared["note"].str.startswith("compared with ondrell, a stand-in for").all()
    scored = compared[compared["reader_needed"].notna()]
    assert scored["note"].str.contains(f"other reader ({READER} fp32 for", regex=False).all()
    assert not real["note"].str.contains("stand-in").any()
    assert sample.at["covidqa_submod_minus_focused_f1", "verdict"] == "not run", "a multi-hop corpus is no stand-in for single-pass questions"


def test_the_stand_in_stands_back_where_a_published_data_set_is_at_hand():
    both = run_of(pd.concat([invented_outcomes("ondrell", 20), invented_outcomes("hotpotqa", 20)])).set_index("claim")
    assert both.at["headline_submod_f1", "compared_with"] == "hotpotqa"
    assert both.at["2wiki_f1_delta", "verdict"] == "not run"


def test_the_published_reader_is_no_other_reader():
    name = "Qwen/Qwen2.5-3B-Instruct"
    rows = run_of(invented_outcomes(n=20, pack_id=f"own-dense-5.chunk.tokens={name}", reader="Qwen2.5-3B-Instruct", precision="fp16"), name).set_index("claim")
    assert rows.at["headline_submod_f1", "reader"] == "Qwen2.5-3B-Instruct fp16"
    assert not rows["note"].str.contains("other reader|not the planned").any()


def test_an_unplanned_setting_is_said_in_every_note():
    rows = run_of(invented_outcomes(n=20, pack_id="own-dense-5.chunk.order=picked")).query("verdict != 'not run' and dataset == 'hotpotqa'")
    packed = rows[~rows["claim"].str.contains("derived_all_gold")]
    assert packed["note"].str.startswith("settings are not the planned ones: own-dense-5.chunk.order=picked").all()


def test_a_limitation_is_lifted_by_evidence_and_stands_without_it(real):
    swept = real.loc["limit_single_seed_sweeps"]
    assert swept["verdict"] == "partly lifted" and 0 <= swept["ours"] <= 1 and swept["compared_with"] == "2wiki"  # the first data set that has it
    assert real.at["limit_large_readers", "verdict"] == "stands"  # nothing could lift it
    assert real.at["limit_span_based", "verdict"] == "stands" and "table variants is not part of this run" in real.at["limit_span_based", "note"]
    unswept = run_of(invented_outcomes(n=20).query("budget == 160")).set_index("claim").loc["limit_single_seed_sweeps"]
    assert unswept["verdict"] == "stands" and "no budget 96" in unswept["note"]


def test_undecided_readers_are_errors():
    o = invented_outcomes(n=10)
    with pytest.raises(ValueError, match="'another' has read nothing; the readers of outcomes are \\['invented-0.5b'\\]"):
        run_of(o, "another")
    twice = pd.concat([o, o[o["reader"] == READER].assign(precision="bf16")])
    with pytest.raises(ValueError, match="has read 2 values of precision \\(bf16, fp32\\); say precision="):
        run_of(twice)
    assert run_of(twice, precision="fp32")["verdict"].ne("not run").any()


def test_a_constant_is_undefined_and_not_a_verdict():
    rows = run_of(invented_outcomes(n=20).assign(recall_at_5=1.0, all_gold_at_5=1.0)).set_index("claim")
    assert rows.at["r_hotpotqa_recall_at_5_f1", "verdict"] == "not run"
    assert "undefined in this run" in rows.at["r_hotpotqa_recall_at_5_f1", "note"]


@pytest.mark.parametrize("changed, message", [
    ({"where": '{"polcy": "submod"}'}, "table policies has no column 'polcy'"), ({"where": '{"policy": "submod"}'}, "fits .* rows of policies; name"),
    ({"where": "{"}, "is no JSON"), ({"table": "polices"}, "no table 'polices'"), ({"claim": "headline_naive_em"}, "stands twice")])
def test_a_row_of_facts_that_does_not_fit_is_an_error(tmp_path, monkeypatch, changed, message):
    facts = pd.read_csv(claims.FOLDER / "claims.csv", dtype=str)
    facts.loc[0, list(changed)] = list(changed.values())
    facts.to_csv(tmp_path / "claims.csv", index=False)
    read = claims.published
    monkeypatch.setattr(claims, "published", lambda: read(tmp_path / "claims.csv"))
    with pytest.raises(ValueError, match=message):
        run_of(invented_outcomes(n=10))
