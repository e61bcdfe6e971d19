"""How far the walk reaches: counted by hand, and degenerate chains."""
import pandas as pd
import pytest

from lib import tables
from lib.graph_list_hops import COLUMNS, by_hop

QUESTIONS = pd.DataFrame({"dataset": "d", "qid": ["a", "b", "c"], "n_hops": [2, 2, pd.NA]})
GOLD = pd.DataFrame({"dataset": "d", "qid": ["a", "a", "b", "b", "c"], "doc_id": ["p1", "p2", "p3", "p4", "p1"], "hop": [1, 2, 1, 2, 1], "grade": 1})


def listed(ranker: str, **found: list[str]) -> pd.DataFrame:
    rows = [("d", q, "pooled", ranker, i, doc, 1.0 / i) for q, docs in found.items() for i, doc in enumerate(docs, 1)]
    return pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])


def both() -> pd.DataFrame:
    return pd.concat([listed("graph", a=["p1", "p2"], b=["p3", "x", "p4"], c=["p1"]), listed("dense", a=["p1", "x"], b=["x", "p3"], c=["x"])])


def test_shares_by_hop_are_those_counted_by_hand():
    found = by_hop(both(), GOLD, QUESTIONS, "sample", k=2, resamples=200)
    tables.check(found, "graph_hops")
    assert found[["n_hops", "hop", "graph", "dense", "delta", "n"]].values.tolist() == [[2, 1, 1.0, 1.0, 0.0, 2], [2, 2, 0.5, 0.0, 50.0, 2]]
    assert by_hop(both().sample(frac=1, random_state=0), GOLD.sample(frac=1, random_state=1), QUESTIONS, "sample", k=2, resamples=200).equals(found)
    deeper = by_hop(both(), GOLD, QUESTIONS, "sample", k=3, resamples=200)
    assert deeper["graph"].tolist() == [1.0, 1.0] and (deeper["graph"] >= found["graph"]).all()


@pytest.mark.parametrize("rankings, gold", [(both().iloc[:0], GOLD), (both().query("ranker == 'dense'"), GOLD), (both(), GOLD.assign(hop=pd.NA)), (both(), GOLD.iloc[:0])])
def test_no_list_or_no_chain_gives_no_row(rankings, gold):
    assert by_hop(rankings, gold, QUESTIONS, "sample").empty and list(by_hop(rankings, gold, QUESTIONS, "sample")) == COLUMNS
    tables.check(by_hop(rankings, gold, QUESTIONS, "sample"), "graph_hops")


def test_one_question_has_no_interval_and_a_wrong_k_is_refused():
    alone = by_hop(both().query("qid == 'a'"), GOLD.query("qid == 'a'"), QUESTIONS, "sample", resamples=50)
    assert alone["delta"].tolist() == [0.0, 100.0] and alone["ci_low"].isna().all()
    with pytest.raises(ValueError, match="k must be"):
        by_hop(both(), GOLD, QUESTIONS, "sample", k=0)
