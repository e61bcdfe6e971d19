"""Which passages hold the answer: the pool and the gold, each once, judged by the passage's own text."""
import pytest

from lib import tables
from lib.holders import KEY, holders
from tests.small_world import TEXTS, world


def made(depth=3, **changes):
    w = dict(zip(("questions", "gold", "documents", "pools", "rankings"), world())) | changes
    return holders(w["questions"], w["gold"], w["documents"], w["rankings"], "own", "dense", depth), w


def test_every_pool_and_gold_passage_has_one_row_and_the_table_fits():
    rows, w = made()
    tables.check(rows, "holders")
    listed = w["rankings"].query("scope == 'own' and ranker == 'dense' and rank <= 3")
    wanted = {*listed[KEY].itertuples(index=False, name=None), *w["gold"][KEY].itertuples(index=False, name=None)}
    assert set(rows[KEY].itertuples(index=False, name=None)) == wanted and not rows.duplicated(KEY).any()
    assert set(rows.loc[rows["is_gold"], KEY].itertuples(index=False, name=None)) == set(w["gold"][KEY].itertuples(index=False, name=None))


def test_the_answer_is_looked_for_in_the_text_and_not_in_the_title():
    rows, _ = made(depth=9)
    held = rows[rows["holds_answer"] == 1].groupby("qid")["doc_id"].agg(set).to_dict()
    assert held["q1"] == {d for d in ("marl", "elmer") if d in set(rows.loc[rows["qid"] == "q1", "doc_id"])}  # "Sea of Aumes" stands in both
    assert "Old Bridge" in TEXTS["bridge"][0] and held["q3"] == {"bridge"}


def test_undefined_answers_are_held_by_nothing():
    rows, _ = made(depth=9)
    assert (rows.loc[rows["qid"].isin(["q2", "q5"]), "holds_answer"] == 0).all()  # yes/no and free-form


def test_gold_beyond_the_pool_has_no_rank():
    shallow, _ = made(depth=1)
    assert shallow.loc[shallow["rank"].isna(), "is_gold"].all() and shallow["rank"].isna().any()
    deep, _ = made(depth=9)
    assert deep["rank"].isna().sum() < shallow["rank"].isna().sum()


def test_a_run_without_gold_keeps_its_pool():
    w = made()[1]
    rows, _ = made(gold=w["gold"][:0])
    assert len(rows) and not rows["is_gold"].any()


def test_errors_say_what_is_missing():
    _, w = made()
    with pytest.raises(ValueError, match="no list of scope 'pooled' and ranker 'nothing'"):
        holders(w["questions"], w["gold"], w["documents"], w["rankings"], "pooled", "nothing", 3)
    with pytest.raises(ValueError, match="is in no table documents"):
        made(documents=w["documents"][w["documents"]["doc_id"] != "marl"])
