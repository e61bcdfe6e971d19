"""The published facts against the reference tables, and the frozen plan against parameters, packers and notebooks."""
import ast

import pandas as pd
import pytest
import yaml

from lib import claims, dials, packers, packing, retrieval, stages, submodular, tables, worlds, worlds_dials

REFERENCE = tables.ROOT.parent / "shared" / "reference"
FACTS, PLAN = claims.published(), claims.plan()


# --- the facts --------------------------------------------------------------------------------------------------------------------------

def test_every_claim_has_its_own_name_a_source_and_what_a_verdict_needs():
    assert FACTS["claim"].is_unique
    assert FACTS["source"].str.startswith("document 000, ").all()
    figures, limits = FACTS[FACTS["kind"] != "limitation"], FACTS[FACTS["kind"] == "limitation"]
    assert (FACTS["label"] != "").all() and figures["label"].is_unique
    assert ((limits["lifts"] != "") == (limits["table"] != "none")).all() and (figures["lifts"] == "").all() and limits["published"].isna().all()
    compared = figures[figures["table"] != "none"]
    assert compared[["published", "effect"]].notna().all(axis=None) and (compared["effect"] > 0).all()
    assert (FACTS.loc[FACTS["table"] == "none", "note"] != "").all(), "a claim without a table says why"
    assert ((FACTS["table"] == "none") == (FACTS["where"].map(len) == 0)).all()
    assert (FACTS["published_low"].dropna() <= FACTS["published"][FACTS["published_low"].notna()]).all()


def policy_of(name: str) -> str:
    return {"chunk_packed": "naive"}.get(name, name.removeprefix("chunk_"))


SHORT = {"Qwen2.5-3B": "3b", "Qwen2.5-7B": "7b", "Qwen2.5-14B": "14b"}
SETS = {"HotpotQA": "hotpotqa", "MuSiQue": "musique", "2WikiMultiHopQA": "2wiki", "RAGBench CovidQA": "ragbench_covidqa", "RAGBench ExpertQA": "ragbench_expertqa"}
SHARE = {"gold_doc_coverage": "coverage", "all_gold_in_reader": "all_gold"}
FOLDED = {  # figures of the text that stand in the row of another
    "2wiki_f1_ci_low": [("2wiki_f1_delta", "published_low")], "2wiki_f1_ci_high": [("2wiki_f1_delta", "published_high")],
    "2wiki_f1_p": [("2wiki_f1_delta", "published_p")], "musique_submod_minus_focused_p": [("musique_submod_minus_focused_f1", "published_p")],
    "covidqa_p": [("covidqa_submod_minus_focused_f1", "published_p")], "expertqa_p": [("expertqa_submod_minus_focused_f1", "published_p")],
    "submod160_vs_focused224_p": [("submod160_minus_focused224_f1", "published_p")],
    "oracle_f1_vs_best_fixed": [("oracle_f1", "published"), ("best_fixed_f1", "published")],
    **{f"submod_minus_naive_every_{k}_p_max": [(f"submod_minus_naive_every_{k}_{end}", "published_p") for end in ("low", "high")] for k in ("rung", "budget")}}


def headline(r):
    return [(f"headline_{policy_of(r.policy)}_{m}", "published", getattr(r, m)) for m in ("f1", "em", "tokens")]


def policy_table(r):
    start = "seed42" if r.seeds == "42" else SHORT[r.reader]
    measures = ("f1", "em", "answer_in_context", "gold_doc_coverage", "all_gold_in_reader", "tokens")
    return [(f"{start}_{policy_of(r.policy)}_{SHARE.get(m, m)}", "published", getattr(r, m)) for m in measures]


def contrast(r):
    treatment, control = map(policy_of, r.contrast.split("-"))
    rung = "7b_nf4" if (r.reader, r.precision) == ("Qwen2.5-7B", "nf4") else SHORT[r.reader]
    name = f"{rung}_{treatment}_minus_{control}_{r.metric}"
    return [(name, "published", r.delta), (name, "published_low", r.ci_low), (name, "published_high", r.ci_high), (name, "published_p", r.p)]


def sweep(r):
    name = f"budget{r.budget}_submod_minus_focused_f1"
    return [(f"budget{r.budget}_submod_f1", "published", r.submod_f1), (f"budget{r.budget}_focused_f1", "published", r.focused_f1),
            (name, "published", r.delta_f1), (name, "published_p", r.p)]


def related(r):
    return [(f"r_{SETS[r.dataset]}_{r.diagnostic}_{m}", "published", getattr(r, f"r_{m}").replace("degenerate", "")) for m in ("f1", "em")]


def unlock(r):
    return [(f"unlock_{r.metric}_{c}", "published", getattr(r, c)) for c in ("baseline", "wide")]


def text_claim(r):
    places = FOLDED.get(r.claim, [(r.claim, "published")])
    values = r.value.split(" vs ") if " vs " in r.value else [r.value] * len(places)
    return [(*place, value) for place, value in zip(places, values)]


FILES = {"packing_headline_hotpotqa": headline, "packing_policy_tables_hotpotqa": policy_table, "packing_contrasts_hotpotqa": contrast,
         "packing_budget_sweep_hotpotqa": sweep, "diagnostic_correlations": related, "retrieval_unlock_musique": unlock, "diagnostic_claims": text_claim}


@pytest.mark.parametrize("name", FILES)
def test_every_reference_figure_has_its_row(name):
    path = REFERENCE / f"{name}.csv"
    if not path.exists():
        pytest.skip("the reference tables (../shared/reference) are not on this machine; data/published/claims.csv holds their figures")
    facts = FACTS.set_index("claim")
    wanted = [figure for r in pd.read_csv(path, comment="#", dtype=str, keep_default_na=False).itertuples() for figure in FILES[name](r)]
    assert len(wanted) >= 6
    for claim, column, value in wanted:
        if value == "":
            continue
        assert claim in facts.index, f"{name}: {claim} = {value} has no row"
        have = facts.at[claim, column]
        assert have.lstrip("<=") == value.lstrip("<") if column == "published_p" else have == float(value), (claim, column, have, value)


# --- the plan ---------------------------------------------------------------------------------------------------------------------------

PARAMS = yaml.safe_load((tables.ROOT / "params.yaml").read_text(encoding="utf-8"))
TIERS = [t for t in PARAMS if t not in ("tiers", "own")]  # one's own data and settings are held to no plan


def test_the_published_arm_is_what_the_packers_do_by_default():
    arm = PLAN["published_arm"]
    named = {"alpha": arm["alpha"], "lam": arm["lambda"], "greedy": "ratio"}  # settings since the plan, which names them apart
    assert arm["setting"] | named == {k: v for k, v in packing.SETTING.items() if k != "tokenizer"} and packing.pack_id(packing.setting(**arm["setting"])) == arm["pack_id"]
    assert (tuple(arm["setting"]["weights"]), arm["alpha"]) == (submodular.PUBLISHED_WEIGHTS, submodular.PUBLISHED_ALPHA)
    assert (arm["lambda"], arm["dimensions"]) == (packers.PUBLISHED_LAMBDA, retrieval.DIMENSIONS)


@pytest.mark.parametrize("tier", TIERS)
def test_parameters_are_the_plans(tier):
    p = PARAMS[tier]
    assert p["pack"]["setting"] == {"tokenizer": PLAN["tokenizers"][tier]}
    assert p["retrieve"]["dimensions"] == PLAN["published_arm"]["dimensions"]
    assert p["read"]["budget"] == PLAN["published_arm"]["budget"] and p["read"]["budget"] in p["pack"]["budgets"]
    assert set(PLAN["published_arm"]["policies"]) <= set(p["pack"]["policies"]) & set(p["read"]["policies"])
    assert {policy for pair in PLAN["contrasts"] for policy in pair} <= set(p["pack"]["policies"])
    assert (p["diagnose"]["margin"], p["diagnose"]["resamples"]) == (PLAN["margin"], PLAN["resamples"])


def assigned(code: str, name: str) -> list:
    """The literal values that ``code`` assigns to ``name``; an expression that is no literal is left out."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            try:
                found.append(ast.literal_eval(node.value))
            except ValueError:
                continue
    return found


def test_notebook_04_compares_what_the_plan_says():
    notebook = tables.ROOT / "notebooks" / "04_diagnose.ipynb"
    code = stages.code_of(notebook)
    assert assigned(code, "pairs") in ([], [PLAN["contrasts"]])
    assert "claims.plan()" in code or assigned(code, "pairs"), "contrasts come from claims.plan() or equal it"
    assert assigned(code, "published") in ([], [PLAN["published_arm"]["policies"]])
    assert assigned(code, "margin") == [PLAN["margin"]] and assigned(code, "resamples") == [PLAN["resamples"]]


def test_contrasts_are_pairs_of_different_policies_and_the_stand_in_is_no_published_set():
    assert all(len(pair) == 2 and pair[0] != pair[1] for pair in PLAN["contrasts"]) and len(set(PLAN["contrasts"])) == len(PLAN["contrasts"])
    assert not set(PLAN["stand_in"]) & set(FACTS["dataset"])
    assert {d for sets in PLAN["stand_in"].values() for d in sets} <= set(FACTS["dataset"])


def test_the_worlds_turn_every_dial_from_rest_and_pack_as_the_published_arm():
    plan = PLAN["worlds"]
    found = dials.points(plan)
    assert plan["rest"] == worlds_dials.REST and set(plan["dials"]) == set(worlds_dials.REST) and found["dataset"].nunique() == 19
    arm = PLAN["published_arm"]
    assert (plan["budget"], plan["margin"]) == (arm["budget"], PLAN["margin"]) and plan["contrasts"] == [list(p) for p in PLAN["contrasts"][:2]]
    assert all(arm["setting"][k] == plan["pool"][k] for k in ("scope", "ranker", "depth")) and plan["pool"]["passages"] == worlds.POOL_SIZE
    assert plan["metric"] in PLAN["metrics"] and set(plan["ends"]["policies"]) == set(plan["contrasts"][0])
