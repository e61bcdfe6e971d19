"""Every packing setting beside the published columns: the right published value beside the right row, and nothing where nothing belongs."""
import pandas as pd
import pytest

from lib import choices


def packing(dataset: str) -> pd.DataFrame:
    rows = [("real", dataset, pack, policy, 160, half, measure, 0.5 + 0.1 * (pack == "b"), 0.4, 0.6, 10, 10, 0)
            for pack in ("a", "b") for policy in choices.POLICIES for half in ("0", "1", "all") for measure in choices.MEASURES]
    return pd.DataFrame(rows, columns=["tier", "dataset", "pack_id", "policy", "budget", "half", "measure", "estimate", "ci_low", "ci_high", "n", "clusters",
                                       "undefined"])


@pytest.mark.parametrize("policy, measure, value", [("naive", "gold_coverage", 0.685), ("submod", "all_gold_in_context", 0.578),
                                                    ("focused", "answer_in_context", 0.622), ("mmr", "n_tokens", 151.9)])
def test_published_columns_are_document_000s_table_6(policy, measure, value):
    assert choices.published_columns()["hotpotqa", policy, measure] == value


def test_both_conventions_of_answer_in_context_stand_beside_the_one_published_column():
    known = choices.published_columns()
    assert known["hotpotqa", "naive", "answer_in_context_defined"] == known["hotpotqa", "naive", "answer_in_context"] == 0.590


def test_moved_is_measured_from_the_main_setting_and_difference_from_the_published_value():
    table = choices.choices(packing("hotpotqa"), "a", 160).set_index(["pack_id", "half", "policy", "measure"])
    row = table.loc[("b", "0", "naive", "gold_coverage")]
    assert row["moved"] == pytest.approx(0.1) and row["difference"] == pytest.approx(0.6 - 0.685)
    assert (table.loc["a"]["moved"] == 0).all()


def test_a_data_set_without_published_rows_has_no_difference_and_no_distance():
    table = choices.choices(packing("ondrell"), "a", 160)
    assert table["published"].isna().all() and table["difference"].isna().all() and table["moved"].notna().all()
    assert choices.distances(table).empty


def test_distance_is_the_mean_absolute_difference_of_three_shares_over_four_packers():
    table = choices.choices(packing("hotpotqa"), "a", 160)
    published = [v for (d, p, m), v in choices.published_columns().items() if m in choices.SHARES]
    assert len(published) == 12
    assert choices.distances(table).loc[("hotpotqa", "a"), "0"] == pytest.approx(sum(abs(0.5 - v) for v in published) / 12)


def test_moves_without_other_settings_or_without_some_packers():
    from lib.packing import pack_id, setting

    table = packing("own_x").replace({"pack_id": {"a": pack_id(setting()), "b": pack_id(setting(depth=10))}})
    tried = choices.choices(table[table["policy"].isin(["naive", "mmr"])], pack_id(setting()), 160)
    assert list(choices.moves(tried, [setting(depth=10)], setting(), "gold_coverage")) == ["naive", "mmr"]
    assert choices.moves(tried, [], setting(), "gold_coverage").empty


def kept(pack: str, policy: str, values, dataset: str = "own_x", tokens: float = 150.0) -> pd.DataFrame:
    return pd.DataFrame({"dataset": dataset, "qid": [f"q{i:02}" for i in range(len(values))], "pack_id": pack, "policy": policy, "budget": 160, "answer_in_context": values,
                         "answer_defined": True, "gold_coverage": 1.0, "n_tokens": tokens})


def test_shifts_are_paired_differences_and_equal_packs_share_a_row():
    from lib.packing import pack_id, setting

    main, deep, deeper, both = setting(), setting(depth=10), setting(depth=20), setting(depth=10, scope="pooled")
    plain = [0, 1] * 10
    better = [1] * 20
    rows = pd.concat([kept(pack_id(s), p, v) for p in ("naive", "submod") for s, v in ((main, plain), (deep, better), (deeper, better), (both, plain))])
    found = choices.shifts(rows.sample(frac=1, random_state=0), [deep, deeper, both], main, 160, resamples=500)
    assert found["change"].tolist() == ["depth = 10; depth = 20"] * 2 + ["scope = pooled, depth = 10"] * 2 and found["changes"].tolist() == [1, 1, 2, 2]
    up = found[found["changes"] == 1]
    assert (up["delta"] == 0.5).all() and (up["ci_low"] > 0).all() and (found["n"] == 20).all() and (found["p_holm"] >= found["p_value"]).all()
    assert (found[found["changes"] == 2][["delta", "ci_low", "ci_high"]] == 0).all(axis=None)
    moved = choices.shifts(pd.concat([rows, kept(pack_id(deeper), "naive", better, tokens=99.0)]).drop_duplicates(["qid", "pack_id", "policy"], keep="last"),
                           [deep, deeper], main, 160, resamples=100)
    assert moved["change"].nunique() == 2, "other packs are other rows, though they keep the same answers"
    assert choices.shifts(rows, [], main, 160).empty and choices.shifts(rows.assign(answer_defined=False), [deep], main, 160)["delta"].isna().all()
