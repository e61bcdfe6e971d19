"""The claim/entity graph: drawn from the tables alone, finding by hand, nothing outside its frame, and degenerate questions."""
import pandas as pd
import pytest
from ace_world import TEXTS, passages

from lib import ace, charts
from lib.charts import ChartError
from lib.figures_ace import claim_graph
from lib.figures_ace_cards import LETTERS, LINES, WIDTH, cards, finding, rows_drawn

QUESTION = "When was the engineer of the Old Bridge of Tollwick born?"


def told(answer="1702", order=("bridge", "other", "vane", "hythe", "elmer"), gold=("bridge", "vane"), texts=TEXTS):
    world = passages(texts)
    question = pd.Series({"answers": [answer], "question_type": "bridge"})
    return ace.example(question, [world[d] for d in order], set(gold))


def drawn(chart):
    """All rows the figure is drawn from, by layer."""
    spec = charts.spec_of(chart, "claim_graph")
    return [pd.DataFrame(rows) for rows in spec["datasets"].values()], spec


def texts_of(chart):
    return [t for frame in drawn(chart)[0] if "text" in frame for t in frame["text"]]


def test_the_example_tables():
    claims, entities, edges = told()
    assert claims["doc_rank"].tolist() == sorted(claims["doc_rank"]) and claims.loc[claims["holds_answer"], "doc_id"].tolist() == ["vane", "hythe", "hythe"]
    assert claims.set_index(["doc_id", "claim"])["introduced_by"]["vane", 3] == 0 and set(edges["entity"]) == set(entities["entity"])


@pytest.mark.parametrize("change, said", [
    ({}, "By the parser, “Isott Vane” joins a claim of “Old Bridge” to the claim with the answer"),
    ({"answer": "1999"}, "In the claims parsed from the retrieved passages the answer is not found"),
    ({"gold": ("vane",)}, "No other gold passage stands beside the claim with the answer"),
    ({"answer": "larch", "gold": ("other", "vane")}, "The parser found no entity that joins the claim with the answer to another gold passage")])
def test_the_title_is_what_the_tables_say(change, said):
    tables = told(**change)
    assert finding(*tables) == said
    chart = claim_graph(QUESTION, change.get("answer", "1702"), *tables, tier="sample")
    assert " ".join(drawn(chart)[1]["title"]["text"]) == said
    assert any("n = 1 question" in line and "sample tier" in line for line in drawn(chart)[1]["title"]["subtitle"])


def test_every_claim_has_its_card_and_its_post():
    tables = told()
    shown = texts_of(claim_graph(QUESTION, "1702", *tables))
    assert [t for t in shown if t.split()[0].isdigit() and "shown after" in t] == [f"{a}  shown after {b}" for a, b in ((2, 1), (3, 1), (5, 4), (7, 6), (9, 6))]
    assert {str(k) for k in range(1, len(tables[0]) + 1)} <= set(shown)
    joined = " ".join(shown)
    assert all(" ".join(line) in joined for line in ([w] for text in tables[0]["text"] for w in text.split()))


def test_nothing_is_drawn_outside_the_frame_and_no_cards_overlap():
    chart = claim_graph(QUESTION, "1702", *told())
    frames, spec = drawn(chart)
    for frame in frames:
        for c in {"left", "right", "x", "min", "max"} & set(frame):
            assert frame[c].between(-5, WIDTH + 5).all()
        for c in {"top", "bottom", "y"} & set(frame):
            assert frame[c].between(0, spec["height"]).all()
    claims = told()[0]
    made = cards(claims, list(dict.fromkeys(claims["doc_id"])), "1702")
    for _, column in made.groupby("column"):
        assert (column["top"].to_numpy()[1:] >= column["bottom"].to_numpy()[:-1]).all()


def test_a_long_claim_is_cut_around_the_answer():
    long = " ".join(f"word{k}" for k in range(60))
    claims = pd.DataFrame({"doc_id": ["d"] * 2, "claim": [0, 1], "text": [long, long], "holds_answer": [True, False], "introduced_by": [None, None]})
    first, second = cards(claims, ["d", "e", "f", "g", "h"], "word40")["lines"]
    assert any("word40" in line for line in first) and first[0].startswith("…") and first[-1].endswith("…")
    assert not any("word40" in line for line in second) and second[0].startswith("word0") and len(first) == len(second) == LINES
    assert max(map(len, first)) <= LETTERS + 2


def test_entities_with_a_row():
    claims, _, edges = told()
    links = edges.assign(full=True)
    rows = rows_drawn(links, claims, 10)
    count = links.groupby("entity").apply(lambda t: len(t[["doc_id", "claim"]].drop_duplicates()), include_groups=False)
    assert {e for e in rows if count[e] == 1} == set() and "isott vane" in rows and "gedney hythe" in rows
    assert rows_drawn(links, claims, 1) == ["isott vane"]  # of most documents


def test_degenerate_questions_are_drawn():
    alone = {"d": ("Marl", "nobody swims here.")}
    chart = claim_graph("Who swims?", "nobody", *told("nobody", ["d"], [], alone))
    assert "nobody swims here." in " ".join(texts_of(chart))
    many = {f"d{k}": (f"Title {k}", "Isott Vane drew it.") for k in range(9)}
    assert "8  Title 7" not in texts_of(claim_graph("Who?", "Isott Vane", *told("Isott Vane", list(many), ["d8"], many)))
    claims, entities, edges = told()
    with pytest.raises(ChartError, match="has no rows"):
        claim_graph("Who?", "x", claims.iloc[:0], entities, edges)
    with pytest.raises(ChartError, match="edges name entities that are not in the table"):
        claim_graph("Who?", "x", claims, entities.iloc[:1], edges)
