"""What a target teaches is measured as by hand, refused where it would not be fair, kept on file as it is, and drawn as it came out."""
import json
import math

import numpy as np
import pandas as pd
import pytest
import yaml

from lib import (
    cross_encoder_quality,
    cross_encoder_recipe,
    figures_targets,
    tables,
    targets,
    targets_results,
    train_cross_encoder,
    train_targets,
    training_evidence,
)
from lib.charts import ChartError, NothingToDraw
from lib.cross_encoder_quality import pairwise_auc
from lib.declarations_targets import TARGETS
from lib.store import Store
from lib.targets import FIRST, KEY, check_fair, outcomes, table
from lib.training_chunks import CASES
from tests import invented
from tests.tiny_bert import tiny_base


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Few resamples of the calibration error: its own tests are in tests.test_train_cross_encoder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cross_encoder_quality.ece, "__defaults__", (50, 0))
        yield


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    for name, spec in TARGETS.items():
        monkeypatch.setitem(tables.TABLES, name, tables._declared(name, spec))


def cases(n=24, seed=0, dataset="hotpotqa", where="held out"):
    """n questions: a passage whose second sentence supports, another whose first does, near and easy ones."""
    rows = []
    for i in range(n):
        q = f"{dataset}{i}"
        parts = [("sibling", "a", 0), ("support", "a", 1), ("sibling", "a", 2), ("support", "b", 0), ("sibling", "b", 1)]
        parts += [(kind, f"{kind}{j}", 0) for kind in ("near", "easy") for j in range(3)]
        rows += [(dataset, q, f"Who is {q}?", kind, f"{q}-{doc}", place, place, f"{q} {doc} {place}") for kind, doc, place in parts]
    return pd.DataFrame(rows, columns=CASES).assign(where=where)


def scored(worth, n=24, noise=0.0, seed=0, **kind):
    """Cases with a score a kind, and noise of the seed."""
    made = cases(n, **kind)
    return made.assign(score=made["kind"].map(worth).astype(float) + noise * np.random.default_rng(seed).normal(size=len(made)))


TOPIC = {"support": 2, "sibling": 2, "near": 1, "easy": 0}
EVIDENCE = {"support": 3, "sibling": 0, "near": 1, "easy": 0}


def variants(n=20, noise=1.5, **kind):
    return pd.concat([scored(worth, n, noise, seed, **kind).assign(variant=name) for seed, (name, worth) in enumerate(
        {"support_mixed": EVIDENCE, "document_mixed": TOPIC, "support_near": EVIDENCE, "support_easy": TOPIC, "untrained": dict.fromkeys(TOPIC, 0)}.items())])


@pytest.fixture(scope="module")
def made(quick):
    return table(pd.concat([variants(), variants(dataset="2wiki"), variants(dataset="ondrell", where="transfer")], ignore_index=True), resamples=300)


def row(df, **at):
    return df[np.logical_and.reduce([df[k] == v for k, v in at.items()])].squeeze()


# --- measures

def test_a_perfect_order_scores_one_and_a_reversed_one_nothing():
    for worth, expected in ((EVIDENCE, 1.0), ({k: -v for k, v in {"support": 3, "sibling": 0, "near": 0, "easy": 0}.items()}, 0.0)):
        found = outcomes(scored(worth))
        assert (found["auc"] == expected).all(axis=None) and (found["on_top"]["support"] == expected).all()
    assert (outcomes(scored(EVIDENCE))[["mrr", "ndcg"]] == 1).all(axis=None)


def test_a_model_of_topic_tells_near_from_support_and_not_siblings():
    found = outcomes(scored(TOPIC))
    assert (found["auc"]["sibling"] == 0.5).all() and (found["auc"][["near", "easy"]] == 1).all(axis=None)
    assert (found["on_top"]["topical"] == found["on_top"]["sibling"] + found["on_top"]["near"]).all()


def test_measures_equal_a_loop():
    rows = scored(EVIDENCE, noise=3.0)
    found = outcomes(rows)
    for key, part in rows.groupby(KEY):
        part = part.sort_values("score", ascending=False)
        near = part[part["kind"].isin(["support", "near"])]
        right = (near["kind"] == "support").to_numpy()
        assert found.loc[key, ("auc", "near")] == pytest.approx(pairwise_auc(near["score"].to_numpy(), right))
        assert found.loc[key, ("mrr", "near")] == pytest.approx(1 / (1 + int(np.argmax(right))))
        gain = sum(1 / math.log2(i + 2) for i, r in enumerate(right) if r) / sum(1 / math.log2(i + 2) for i in range(right.sum()))
        assert found.loc[key, ("ndcg", "near")] == pytest.approx(gain)
        inside = [p for _, p in part[part["kind"].isin(["support", "sibling"])].groupby("doc_id")]
        by_passage = [pairwise_auc(p["score"].to_numpy(), (p["kind"] == "support").to_numpy()) for p in inside]
        assert found.loc[key, ("auc", "sibling")] == pytest.approx(np.mean(by_passage))
        later = [a for a, p in zip(by_passage, inside) if p["doc_id"].iloc[0].endswith("-a")]
        assert found.loc[key, ("auc", "later")] == pytest.approx(np.mean(later))
        assert found.loc[key, ("on_top", part["kind"].iloc[0])] == 1


def test_a_shift_a_scale_and_the_order_of_rows_change_nothing():
    rows = scored(EVIDENCE, noise=2.0)
    pd.testing.assert_frame_equal(outcomes(rows), outcomes(rows.assign(score=rows["score"] * 3 + 7)))
    pd.testing.assert_frame_equal(outcomes(rows), outcomes(rows.sample(frac=1, random_state=1)))


def test_a_question_without_siblings_is_undefined_there_and_counted():
    rows = variants(6)
    lone = rows[~((rows["qid"] == "hotpotqa0") & (rows["kind"] == "sibling"))]
    found = table(lone, resamples=50)
    at = row(found, variant="support_mixed", control="none", measure="auc", kind="sibling")
    assert (at["n"], at["undefined"]) == (5, 1)
    assert row(found, variant="support_mixed", control="none", measure="auc", kind="near")["n"] == 6


# --- the table

def test_levels_and_contrasts_fit_each_other_and_the_declaration(made):
    tables.check(made.assign(tier="t"), "targets")
    for r in made[(made["control"] != "none") & made["estimate"].notna()].itertuples():
        at = {"where": r.where, "dataset": r.dataset, "measure": r.measure, "kind": r.kind, "control": "none"}
        assert r.estimate == pytest.approx(row(made, variant=r.variant, **at)["estimate"] - row(made, variant=r.control, **at)["estimate"], abs=1e-9)
    assert set(made["dataset"]) == {"all", "hotpotqa", "2wiki", "ondrell"} and not made.query("where == 'transfer' and dataset == 'all'").size


def test_the_planted_effects_are_found_and_no_other(made):
    at = {"where": "held out", "dataset": "all", "measure": "auc"}
    label = row(made, variant="support_mixed", control="document_mixed", kind="sibling", **at)
    assert label["ci_low"] > 0.1 and label["p_holm"] < 0.05
    same = row(made, variant="support_mixed", control="support_near", kind="sibling", **at)
    assert same["p_holm"] > 0.05 and abs(same["estimate"]) < label["estimate"] / 2
    chance = row(made, variant="untrained", control="none", kind="near", **at)
    assert chance["ci_low"] < 0.5 < chance["ci_high"]


def test_holm_runs_over_the_contrasts_and_kinds_of_one_set_and_measure(made):
    family = made.query("where == 'held out' and dataset == 'all' and measure == 'auc' and control != 'none' and kind in ('sibling', 'near', 'easy')")
    assert len(family) == 15
    ps = family["p_value"].sort_values().to_numpy()
    by_hand = np.minimum(np.maximum.accumulate(ps * np.arange(len(ps), 0, -1)), 1)
    assert np.allclose(family.sort_values("p_value")["p_holm"], by_hand)
    assert made.query("kind in ('later', 'topical') or control == 'none'")["p_holm"].isna().all()


def test_the_first_sentence_is_a_rule_for_siblings_alone(made):
    rule = made[made["variant"] == FIRST]
    assert set(rule["kind"]) == {"sibling", "later"} and set(rule["measure"]) == {"auc", "mrr", "ndcg"}
    assert row(rule, dataset="all", measure="auc", kind="sibling")["estimate"] == pytest.approx((0.5 + 1) / 2)
    assert row(rule, dataset="all", measure="auc", kind="later")["estimate"] == pytest.approx(0.5)


def test_scores_over_questions_are_auc_and_calibration(made):
    at = {"where": "held out", "dataset": "hotpotqa", "variant": "support_mixed", "kind": "all"}
    rows = variants().query("variant == 'support_mixed'")
    right = (rows["kind"] == "support").to_numpy()
    assert row(made, measure="auc_all", **at)["estimate"] == pytest.approx(pairwise_auc(rows["score"].to_numpy(), right))
    assert row(made, measure="base_rate", **at)["estimate"] == pytest.approx(right.mean(), abs=1e-4) and row(made, measure="auc_all", **at)["n"] == len(rows)
    assert 0 <= row(made, measure="ece_platt", **at)["estimate"] < row(made, measure="ece_sigmoid", **at)["estimate"]


def test_a_table_does_not_depend_on_the_order_of_rows():
    rows = variants(8)
    a, b = (targets.table(r.reset_index(drop=True), resamples=50).sort_values(targets.COLUMNS[:6], ignore_index=True)
            for r in (rows, rows.sample(frac=1, random_state=2)))
    pd.testing.assert_frame_equal(a, b)


def test_one_question_one_variant_or_nothing_is_no_crash():
    one = table(variants(1).query("variant == 'support_mixed'"), resamples=20)
    assert row(one, variant="support_mixed", control="none", measure="auc", kind="near")["n"] == 1 and one["ci_low"].dropna().empty
    assert table(variants(2)[:0], resamples=20).empty


def test_scores_that_are_missing_or_of_other_chunks_are_refused():
    rows = variants(3).reset_index(drop=True)
    with pytest.raises(ValueError, match="document_mixed was scored on 33 chunks, .* on 32|.* was scored on 32 chunks"):
        table(rows.drop(index=rows.index[rows["variant"] == "support_mixed"][0]), resamples=10)
    with pytest.raises(ValueError, match="1 of 33 chunks have no score"):
        table(rows.assign(score=rows["score"].where(rows.index != 0)), resamples=10)


def test_unequal_pairs_are_refused():
    few = pd.DataFrame({"dataset": "d", "qid": ["a", "a", "b"]})
    check_fair({"x": few, "y": few.sample(frac=1, random_state=0)})
    with pytest.raises(ValueError, match="y is shown 2 pairs of 2 questions, x 3 of 2"):
        check_fair({"x": few, "y": few[1:]})


# --- on file

def test_what_is_written_is_what_is_read_and_the_same_rows_give_the_same_bytes(made, tmp_path):
    targets_results.write(made, tmp_path)
    first = (tmp_path / "targets.csv").read_bytes()
    read = targets_results.read("sample", tmp_path)
    assert set(read["tier"]) == {"sample"} and len(read) == len(made)
    targets_results.write(made.sample(frac=1, random_state=1), tmp_path)
    assert (tmp_path / "targets.csv").read_bytes() == first


def test_told_are_the_whole_groups_in_order(made):
    read = made.assign(tier="t")
    levels = targets_results.told(read, "auc", ("near", "sibling"))
    assert set(zip(levels["where"], levels["dataset"])) == {("held out", "all"), ("transfer", "ondrell")} and levels["control"].eq("none").all()
    held = levels[levels["where"] == "held out"]
    assert list(held["variant"].drop_duplicates()) == [v for v in targets_results.ORDER if v in set(read["variant"])]
    assert list(held["kind"][:2]) == ["near", "sibling"]
    changes = targets_results.told(read, "auc", ("sibling",), "any")
    assert set(zip(changes["variant"], changes["control"])) == {c for c in targets.CONTRASTS if "document_easy" not in c}
    assert list(targets_results.told(read, ("ece_platt", "auc_all"), ("all",))["measure"][:2]) == ["ece_platt", "auc_all"]
    assert targets_results.told(read[:0], "auc", ("near",)).empty


def test_a_missing_cut_or_changed_file_is_one_error_with_the_mend(made, tmp_path):
    with pytest.raises(FileNotFoundError, match="python -m lib.train_targets"):
        targets_results.read("sample", tmp_path)
    targets_results.write(made, tmp_path)
    path = tmp_path / "targets.csv"
    whole = path.read_text()
    for damage in (whole[:-5], whole.replace("estimate", "guess"), "", whole + whole.splitlines(True)[1]):
        path.write_text(damage)
        with pytest.raises(ValueError, match="targets.csv cannot be read .*git checkout"):
            targets_results.read("sample", tmp_path)


# --- the figure

@pytest.mark.parametrize("low, high, p, said", [(0.1, 0.2, 0.01, "more often than"), (-0.2, -0.1, 0.01, "less often than"), (-0.1, 0.2, 0.6, "undecided"),
                                                (0.01, 0.2, 0.2, "undecided"), (0.01, 0.2, np.nan, "undecided")])
def test_the_title_says_what_came_out_after_holm(made, low, high, p, said):
    at = (made["control"] == "document_mixed") & (made["kind"] == "sibling") & (made["measure"] == "auc")
    changed = made.assign(ci_low=made["ci_low"].where(~at, low), ci_high=made["ci_high"].where(~at, high), p_holm=made["p_holm"].where(~at, p))
    assert said in figures_targets.finding(changed).split(";")[0]


@pytest.mark.parametrize("low, high, said", [(0.1, 0.2, ", also where"), (-0.2, -0.1, ", the other way round where"), (-0.1, 0.2, ", undecided where")])
def test_the_title_says_what_is_left_where_the_support_does_not_come_first(made, low, high, said):
    at = (made["control"] == "document_mixed") & (made["kind"] == "later") & (made["measure"] == "auc")
    first = (made["control"] == "document_mixed") & (made["kind"] == "sibling") & (made["measure"] == "auc")
    changed = made.assign(ci_low=made["ci_low"].mask(at, low).mask(first, 0.1), ci_high=made["ci_high"].mask(at, high).mask(first, 0.2),
                          p_holm=made["p_holm"].mask(first, 0.01))
    assert f"more often than labels on the whole passage{said} it does not come first" in figures_targets.finding(changed)


def test_the_figure_has_a_panel_a_kind_and_a_row_a_variant(made):
    spec = figures_targets.targets(made, "sample").to_dict()
    assert len(spec["hconcat"]) == 4 and "sample tier" in spec["title"]["subtitle"][-1]
    rows = [r for data in spec["datasets"].values() for r in data if "ci_low" in r]
    assert {r["dataset"] for r in rows} == {"all", "ondrell"} and {r["name"] for r in rows} >= {"support, mixed", "before training", "the first sentence"}


def test_a_figure_of_one_set_of_levels_alone_and_of_nothing(made):
    one = made.query("dataset == 'ondrell'")
    assert figures_targets.targets(one).to_dict()["title"]["text"] == ["What a reranker tells apart, by what it was taught"]
    with pytest.raises(NothingToDraw):
        figures_targets.targets(made[made["measure"] == "ndcg"])
    with pytest.raises(ChartError, match="several rows of one kind"):
        figures_targets.targets(pd.concat([made, made]))


# --- the command

@pytest.fixture
def house(tmp_path, monkeypatch):
    """Files of invented questions, a recipe of two variants, and the tiny model in MiniLM's place."""
    base = tmp_path / "base"
    base.mkdir()
    tiny_base(base)
    for folder in ("train", "hotpotqa"):
        (tmp_path / "raw" / folder).mkdir(parents=True)

    def question(i, name="h"):
        context = [[f"Painter {i}", [f"Painter {i} painted eels.", f" The town was Ostley{'abcdefgh'[i % 8]}.", " Bees."]],
                   [f"Mill {i}", [f"The mill {i} is old.", f" It is bad {i}."]], *[[f"Elmer {i} {j}", [f"Elmer {i} keeps bees {j}."]] for j in range(4)]]
        return invented.hotpot(_id=f"{name}{i}", question=f"Which town had painter {i} of {name}?", answer=f"Ostley{'abcdefgh'[i % 8]}",
                               supporting_facts=[[f"Painter {i}", 1], [f"Mill {i}", 0]], context=context)

    invented.write(tmp_path / "raw" / "train" / "h.jsonl.gz", *[question(i) for i in range(24)])
    invented.write(tmp_path / "raw" / "hotpotqa" / "dev.jsonl.gz", question(1, "dev"))
    models = {f"{a}_mixed": {"target": "chunk", "base": "minilm", "pairs": {"label": a}, "training": {"epochs": 1, "max_length": 48}}
              for a in ("support", "document")}
    recipe = {"held_out": 4, "training": {"hotpotqa": "train/h.jsonl.gz"}, "evaluation": {"hotpotqa": "hotpotqa/dev.jsonl.gz"}, "models": models}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))
    monkeypatch.setattr(train_targets.weights, "locate", lambda name: base)
    told = training_evidence.sample_facts()
    monkeypatch.setattr(training_evidence, "sample_facts", lambda: told.head(6))
    monkeypatch.setattr(targets.stats.paired_cluster_bootstraps, "__defaults__", (20, 0))
    return tmp_path


def run(house, **changes):
    return train_targets.run(house / "recipe.yaml", house / "raw", house / "targets", house / "trained", Store(house / "no", house / "store"), **changes)


def test_the_command_trains_scores_and_writes_cards_and_the_same_table_again(house, capsys):
    first = run(house)
    names = {"support_mixed", "document_mixed", "untrained"}
    assert set(first["variant"]) == names | {FIRST} and set(first["where"]) == {"held out", "transfer"}
    cards = {p.stem: json.loads(p.read_text())["model"] for p in (house / "targets").glob("*.json")}
    assert set(cards) == names
    a, b = (cards[f"{label}_mixed"] for label in ("support", "document"))
    assert a["counts"]["pairs"] == b["counts"]["pairs"] and a["loss"]["steps"] == b["loss"]["steps"] and a["sha256"] != b["sha256"]
    assert a["counts"]["called_right"] < b["counts"]["called_right"] and a["leak_check"] == {"hotpotqa": 1}
    before = {p.name: p.read_bytes() for p in (house / "targets").iterdir()}
    assert not any("Ostley" in text.decode() or "Painter" in text.decode() for text in before.values())
    run(house)
    assert {p.name: p.read_bytes() for p in (house / "targets").iterdir()} == before, "found trained and scored: the same files"


def test_the_command_says_in_one_line_what_is_wrong(house, capsys):
    recipe = yaml.safe_load((house / "recipe.yaml").read_text())
    recipe["models"]["document_mixed"]["pairs"]["each"] = 1
    (house / "recipe.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))
    assert train_targets.main(["--raw", str(house / "raw"), "--recipe", str(house / "recipe.yaml")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: document_mixed is shown") and error.count("\n") == 1 and not (house / "trained").exists()
    assert train_targets.main(["--raw", str(house / "elsewhere"), "--recipe", str(house / "recipe.yaml")]) == 1
    assert "training files are not there" in capsys.readouterr().err


def test_the_usual_command_leaves_chunks_to_this_one(house, capsys):
    assert train_cross_encoder.main(["--raw", str(house / "raw"), "--recipe", str(house / "recipe.yaml")]) == 1
    assert "support_mixed learns from chunks: python -m lib.train_targets trains" in capsys.readouterr().err


# --- what is committed

def test_the_committed_cards_are_of_the_committed_recipe_and_as_large_as_each_other():
    recipe = cross_encoder_recipe.read_recipe(train_targets.RECIPE)
    if not (targets_results.FOLDER / "targets.csv").exists():
        pytest.skip("the variants have not been trained here: python -m lib.train_targets")
    cards = {name: json.loads((targets_results.FOLDER / f"{name}.json").read_text())["model"] for name in recipe["models"]}
    for name, card in cards.items():
        assert {k: card["recipe"][k] for k in ("target", "base", "pairs")} == {k: recipe["models"][name][k] for k in ("target", "base", "pairs")}
    assert len({c["loss"]["steps"] for c in cards.values()}) == 1
    assert len({sum(n for kinds in c["counts"]["pairs"].values() for n in kinds.values()) for c in cards.values()}) == 1
    read = targets_results.read("sample")
    assert set(recipe["models"]) | {"untrained", FIRST} == set(read["variant"])
