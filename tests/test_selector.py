"""The selector: it finds what is planted, wins nothing from noise, and no question's own outcome reaches its pick; its features need no gold."""
import json

import numpy as np
import pandas as pd
import pytest

from lib import selector
from lib.headroom import headroom
from lib.selector import CARE, NEVER, choose, picks
from lib.selector_features import MEANING, features


def planted(n=400, gain=0.35, seed=0, by=lambda x: x[:, 0] > 0):
    """Features (n, 6) and outcomes of two packers: which one answers is decided by the features."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    good = by(x)[:, None] == np.array([True, False])
    return x, (rng.random((n, 2)) < 0.3 + gain * good).astype(float)


def noise(n=400, seed=0, packers=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 6)), rng.integers(0, 2, (n, packers)).astype(float)


def gains(values, chosen, who="selector"):
    rows = chosen[chosen["selector"] == who]
    return values[rows["row"], rows["pick"]] - values[rows["row"], rows["fixed"]]


@pytest.mark.parametrize("by", [lambda x: x[:, 0] > 0, lambda x: (x[:, 1] > 0) & (x[:, 2] > -0.5)])
def test_a_planted_feature_is_found(by):
    x, y = planted(by=by)
    chosen = choose(x, y, seed=1)
    for who in CARE:
        won = gains(y, chosen, who)
        assert won.mean() - 2 * won.std() / np.sqrt(len(won)) > 0 and (chosen.loc[chosen["selector"] == who, "model"] != NEVER).mean() > 0.5
    first = chosen[chosen["selector"] == "selector"]
    best = np.where(by(x)[first["row"]], 0, 1)
    assert (first["pick"] == best).mean() > 0.8


def test_noise_collapses_and_nothing_is_won_on_average():
    won, same = [], []
    for seed in range(5):
        x, y = noise(100, seed)
        chosen = choose(x, y, seed=seed)
        careful = chosen[chosen["selector"] == "selector"]
        same.append((careful["pick"] == careful["fixed"]).mean())
        won.append(gains(y, chosen, "selector_eager"))
    assert np.mean(same) > 0.9
    one = np.concatenate(won)  # no optimism, even of the eager one: an in-sample choice would win about 0.2 here
    assert abs(one.mean()) < 3 * one.std() / np.sqrt(len(one))


def test_held_out_outcomes_move_no_pick_of_their_own():
    x, y = planted(90)
    before = choose(x, y)
    for fold in (3,):
        held = before.loc[before["fold"] == fold, "row"].unique()
        changed = y.copy()
        changed[held] = 1 - changed[held]
        after = choose(x, changed)
        same = before["fold"] == fold
        pd.testing.assert_frame_equal(before[same], after[same])


def test_every_question_once_a_selector_and_the_folds_are_alike():
    x, y = noise(101)
    x[:7, 2], x[:, 3] = np.nan, np.nan  # a feature that is missing here and there, one that is never known
    chosen = choose(x, y)
    for who in CARE:
        rows = chosen[chosen["selector"] == who]
        assert rows["row"].tolist() == list(range(101)) and rows["fold"].value_counts().tolist() == [21, 20, 20, 20, 20]
        for fold, part in rows.groupby("fold"):
            train = np.setdiff1d(np.arange(101), part["row"])
            assert set(part["fixed"]) == {int(y[train].mean(axis=0).argmax())}
            assert (part["pick"] == part["fixed"]).all() or part["model"].iloc[0] != NEVER


def test_the_same_packer_twice_is_never_left():
    x, y = noise(60, packers=1)
    chosen = choose(x, np.hstack([y, y]))
    assert (chosen["model"] == NEVER).all() and (chosen["pick"] == 0).all()


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="at least 40"):
        choose(*noise(39))
    with pytest.raises(ValueError, match="got 50 rows of features and 60"):
        choose(noise(50)[0], noise(60)[1])


def outcome_rows(x, y, names=("naive", "submod")):
    ids = [f"q{i:03d}" for i in range(len(y))]
    known = pd.DataFrame(x, columns=[f"f{k}" for k in range(x.shape[1])]).assign(dataset="d", pack_id="p", budget=160, qid=ids)
    rows = pd.concat([pd.DataFrame({"qid": ids, "policy": p, "f1": y[:, k]}) for k, p in enumerate(names)])
    return known, rows.assign(dataset="d", pack_id="p", budget=160, reader="r", precision="fp32", em=rows["f1"], half=rows["qid"].str[1:].astype(int) % 2)


def test_picks_of_a_panel_feed_the_headroom_table():
    x, y = planted(150)
    known, rows = outcome_rows(x, y)
    made = picks(rows, known)
    pd.testing.assert_frame_equal(made, picks(rows.sample(frac=1, random_state=1), known.sample(frac=1, random_state=2)))
    won = headroom(rows, "t", made, resamples=300).query("half == 'all' and outcome == 'f1'").set_index(["policy", "quantity"])
    assert won.loc[("selector", "minus_best_fixed"), "ci_low"] > 0 and won.loc[("selector", "as_best_fixed"), "estimate"] < 0.8
    direct = choose(x, y)
    assert won.loc[("selector", "minus_best_fixed"), "estimate"] == pytest.approx(gains(y, direct).mean())
    few = rows[rows["qid"] < "q030"]
    for nothing in (picks(few, known), picks(rows, known.assign(budget=96)), picks(rows[rows["policy"] == "naive"], known), picks(rows.assign(reader="none"), known)):
        assert nothing.empty and list(nothing) == selector.COLUMNS


def packed_world():
    """Three documents a question, a snippet each; the first two packed by naive, the last two by mmr. The last question found nothing."""
    words = ["In which sea ends the river Marl?", "Who is it?", "Who drew the bridge?"]
    asked = pd.DataFrame({"dataset": "d", "qid": ["q1", "q2", "q9"], "question": words, "answers": [["x"]] * 3})
    listed = pd.DataFrame([("d", q, scope, "dense", rank, f"{q}d{rank}", score) for q, shift in (("q1", 0.0), ("q2", 0.1)) for scope in ("own", "pooled")
                           for rank, score in ((1, 0.9 - shift), (2, 0.6), (3, 0.5), (4, 0.1))], columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])
    pool = listed[(listed["scope"] == "own") & (listed["rank"] <= 3)]
    snippets = pool.assign(pool_id="own-dense-3", representation="chunk", snippet_id=pool["doc_id"] + "#0", n_tokens=10 + pool["rank"], relevance=1 / pool["rank"])
    kept = [snippets.groupby("qid").head(2).assign(policy="naive"), snippets.groupby("qid").tail(2).assign(policy="mmr")]
    packs = pd.concat(kept).assign(pack_id="own-dense-3.chunk", budget=30)[["dataset", "qid", "pack_id", "policy", "budget", "snippet_id", "doc_id", "n_tokens"]]
    setting = json.dumps({"scope": "own", "ranker": "dense", "depth": 3, "representation": "chunk"})
    settings = pd.DataFrame([("own-dense-3.chunk", "pack", setting), ("own-dense-3", "pool", "{}")], columns=["id", "kind", "settings"])
    return asked, listed, snippets, packs, settings


def test_features_by_hand_and_without_gold():
    questions, rankings, snippets, packs, settings = packed_world()
    made = features(questions.drop(columns="answers"), rankings, snippets, packs, settings, "own-dense-3.chunk", 30)
    first = made.set_index("qid").loc["q1"]
    assert first[["top_score", "score_gap", "score_drop"]].tolist() == pytest.approx([0.9, 0.3, 0.4])  # the fourth document is not in the pool
    assert first[["n_candidates", "n_documents", "top_relevance", "relevance_gap", "question_words", "question_terms"]].tolist() == [3, 3, 1, 0.5, 7, 4]
    assert first["overlap_naive_mmr"] == pytest.approx(1 / 3) and first["packed_relevance_naive"] == pytest.approx(1.5 / (1 + 1 / 2 + 1 / 3))
    assert first[["fill_naive", "fill_mmr", "pressure"]].tolist() == pytest.approx([23 / 30, 25 / 30, 36 / 30])
    empty = made.set_index("qid").loc["q9"]  # no pool: counts are 0, scores are missing
    assert not empty[["n_candidates", "fill_naive", "snippets_mmr"]].any() and empty[["top_score", "overlap_naive_mmr"]].isna().all()
    told = [c for c in made if c not in ("dataset", "qid", "pack_id", "budget")]
    assert all(c in MEANING or any(c.startswith(m) for m in MEANING if m.endswith("_")) for c in told) and all(any(c.startswith(m) for c in told) for m in MEANING)


def test_features_do_not_depend_on_the_order_and_refuse_an_unknown_pack():
    *tables, settings = packed_world()
    one, other = (features(*t, settings, "own-dense-3.chunk", 30) for t in (tables, [t.sample(frac=1, random_state=4) for t in tables]))
    pd.testing.assert_frame_equal(one, other)
    with pytest.raises(ValueError, match="pack_id 'x' is not in table settings"):
        features(*tables, settings, "x", 30)
    assert len(features(*tables[:3], tables[3].iloc[:0], settings, "own-dense-3.chunk", 30)) == len(tables[0])
