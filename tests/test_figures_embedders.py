"""The figure of rankers: what it draws, its titles, and what it refuses."""
import pandas as pd
import pytest
from test_embedders import MAIN, world

from lib.charts import ChartError, NothingToDraw, spec_of
from lib.embedders import embedders
from lib.figures_embedders import ranker_forest


def drawn(keep=None, sets=("a",), n=200, **given):
    return ranker_forest(embedders(*world(n=n, sets=sets, keep=keep), MAIN, "sample", resamples=200), margin=0.02, **given)


def title_of(chart):
    return " ".join(spec_of(chart, "rankers")["title"]["text"]).replace("\xa0", " ")


@pytest.mark.parametrize("keep, said", [
    (lambda r, p: 0.9 if p == "submod" else 0.3, "submod keeps more answers than focused with every ranker (+"),
    (lambda r, p: 0.1 if p == "submod" else 0.7, "submod keeps fewer answers than focused with every ranker (−"),
    (lambda r, p: 0.9 if (r, p) == ("other", "submod") else 0.4, "ahead with 1, behind with 0 of 2 rankers"),
    (lambda r, p: 0.5, "submod cannot be told from focused with any ranker"),
])
def test_the_title_is_what_the_table_says(keep, said):
    title = title_of(drawn(keep))
    assert said in title
    assert ("with other it is another than with dense" in title) == (said.startswith("ahead"))


@pytest.mark.parametrize("sets, names", [(("a",), []), (("a", "b", "c"), ["all 3 sets", "a", "b", "c"])])
def test_a_row_a_ranker_and_a_block_a_set(sets, names):
    spec = spec_of(drawn(sets=sets), "rankers")
    assert [block["title"]["text"] for block in spec["vconcat"] if "title" in block] == names
    assert len(spec["vconcat"]) == max(1, len(names)) and all(len(block["hconcat"]) == 3 for block in spec["vconcat"])
    rows = [row for data in spec["datasets"].values() for row in data if "column" in row]
    assert {row["column"] for row in rows} == {"level", "contrast", "change"} and {row["ranker"] for row in rows} == {"dense", "other"}
    assert all(row["ci_low"] <= row["estimate"] <= row["ci_high"] for row in rows)
    assert "change" not in {row["column"] for row in rows if row["ranker"] == "dense"}


def test_what_cannot_be_drawn_is_said():
    q, gold, rankings, survived = world(n=20)
    bare = embedders(q, gold, rankings, survived.iloc[:0], MAIN, "sample", resamples=50)
    with pytest.raises(NothingToDraw):
        ranker_forest(bare)
    table = embedders(q, gold, rankings, survived, MAIN, "sample", resamples=50)
    with pytest.raises(ChartError, match="one scope at a time"):
        ranker_forest(pd.concat([table, table.assign(scope="pooled")]))
    assert ranker_forest(table[table["ranker"] == "dense"]).to_dict(), "one ranker alone still has its row"
