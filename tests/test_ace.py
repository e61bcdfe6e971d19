"""ACE evidence: every character has a source, nothing is merged that differs in what it asserts, and packers run on it as on chunks."""
import dataclasses

import numpy as np
import pandas as pd
import pytest
from ace_world import TEXTS, documents, passages
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import Letters, words

from lib import ace, ace_claims, ace_graph, ace_merge, evidence, packers, retrieval, tables
from lib.ace_entities import aliases, mentions, normalised
from lib.ace_merge import Content, merged, says

SEARCH = settings(max_examples=200, deadline=None, derandomize=True, database=None)
RANKS = {d: k for k, d in enumerate(TEXTS, 1)}


def candidates(world, ranks=RANKS, qid="q"):
    made = ace.cut(world, words)
    return made.assign(qid=qid, pool_id="p", doc_rank=made["doc_id"].map(ranks))


def kept_text(world, ranks=RANKS):
    rows = candidates(world, ranks)
    return sorted(ace.merge(rows, world)[0]["text"])


def test_every_character_of_a_snippet_stands_in_its_document():
    world = passages()
    made, parts = ace.cut(world, words), ace.spans(world, words)
    for s in made.itertuples():
        mine = parts[parts["snippet_id"] == s.snippet_id].sort_values("part")
        assert "".join(TEXTS[d][1][a:b] for d, a, b in zip(mine["doc_id"], mine["start"], mine["end"])) == s.text == s.text.strip()
        assert (s.start, s.end) == (mine["start"].min(), mine["end"].max())
        assert mine["role"].tolist() in (["claim"], ["introduction", "claim"]) and mine["role"].iat[-1] == "claim"
    assert made["n_tokens"].tolist() == evidence.costs(made["text"].tolist(), words)
    evidence.check_additive(words, [made["text"].sample(4, random_state=k).tolist() for k in range(50)])


def test_claims_leave_out_nothing_but_the_joints_between_clauses():
    for p in passages().values():
        left = list(p.text)
        for c in p.claims:
            left[c.start:c.end] = [" "] * (c.end - c.start)
        assert set("".join(left)) <= set(" ;")


def test_introductions_by_hand():
    world = passages()
    text = {(p.doc_id, k): ace_claims.snippet(p, k) for p in world.values() for k in range(len(p.claims))}
    born = "The engineer Isott Vane was born in Gedney Hythe in 1702. "
    assert text["vane", 1] == born + "She drew the Old Bridge of Tollwick."  # a pronoun
    assert text["vane", 3] == born + "Vane died poor."  # a bare alias; what stands between is left out
    assert text["vane", 2] == "Nobody paid her."
    assert text["bridge", 1] == "The Old Bridge of Tollwick was drawn by Isott Vane; it stands on five arches."  # neighbours: one run of text
    assert text["other", 0] == "The Old Bridge of Dravitsa is made of larch."
    alone = passages(introduced=())
    assert all(ace_claims.snippet(p, k) == p.text[c.start:c.end] for p in alone.values() for k, c in enumerate(p.claims))
    assert ace_claims.snippet(passages(introduced=("thing",))["vane"], 1) == "She drew the Old Bridge of Tollwick."


def introduced(body, title="Isott Vane"):
    p = passages({"d": (title, body)})["d"]
    return [c.introduced_by for c in p.claims]


def test_who_introduces_whom():
    # "he": the nearest named subject, which then serves the pronoun after it
    assert introduced("Isott Vane drew. Elmer Vane paid. He left. She stayed.") == [None, None, 1, 1]
    assert introduced("The Marl is brown. Nobody swims. It is cold.", "Marl") == [None, None, 0]
    assert introduced("Nobody swims. The Marl is brown. It is cold.", "Marl") == [None, None, 1]  # the first that names the topic
    assert introduced("Nobody swims. It is cold. That is why.", "Marl") == [None, 0, 1]  # none names it: the first; "that": the one before
    assert introduced("It is cold.", "Marl") == [None]
    assert introduced("The Marl is brown. It is the Marl.", "Marl") == [None, None]  # the claim itself says what
    assert introduced("She drew. Isott Vane left.") == [None, None]


def test_a_claim_stands_alone_where_the_source_has_no_white_space_to_part_it():
    p = passages({"d": ("Marl", "x")})["d"]
    claim = ace_claims.Claim
    claims = claim(0, 8, "name", (0, 4), None), claim(8, 15, "other", (8, 10), None), claim(15, 21, "thing", (15, 17), 0)
    p = p._replace(text="Marl is.No one.It is.", claims=claims)
    assert ace_claims.snippet(p, 2) == "It is."
    assert ace_claims.snippet(p._replace(claims=(*p.claims[:1], claim(8, 15, "thing", (8, 10), 0))), 1) == "Marl is.No one."


def test_names_by_hand():
    spelt = {"The Marl's": "marl", "Marl (river)": "marl", "  A  Ledger of Snow ": "ledger of snow", "the": "", "“Slack Water”": "slack water"}
    assert {name: normalised(name) for name in spelt} == spelt
    assert aliases(["isott vane", "vane"]) == {"vane": "isott vane"}
    assert aliases(["isott vane", "elmer vane", "vane"]) == {}  # two bearers: whose name is it?
    assert aliases(["brenness light", "brenness"]) == {}  # the town is not the lighthouse
    assert aliases(["water", "slack water", "film slack water"]) == {"water": "film slack water", "slack water": "film slack water"}
    found = mentions("The Old Bridge of Tollwick fell.", [[4, 26, "FAC"]], ["Old Bridge"])
    assert [(m.start, m.end, m.name, m.label) for m in found] == [(4, 14, "old bridge", "TITLE")]  # a title wins over a longer phrase
    assert mentions("Marlow and Marl.", [], ["Marl"]) == mentions("Marlow and Marl.", [[11, 15, ""]], ["Marl"])  # whole words only


def test_entities_are_linked_across_documents_and_equal_titles_kept_apart():
    world = passages()
    entities, edges = ace_graph.tables(list(world.values()))
    table = entities.set_index("entity")
    assert table.loc["isott vane", ["name", "label", "n_documents"]].tolist() == ["Isott Vane", "PERSON", 4]
    assert {"old bridge [2]", "old bridge [3]"} <= set(table.index)  # the passages called Old Bridge stand second and third
    how = edges.set_index(["doc_id", "claim", "entity"])["how"]
    assert how["vane", 1, "isott vane"] == "introduction" and how["vane", 3, "isott vane"] == "alias" and how["vane", 0, "gedney hythe"] == "name"
    named = edges[edges["how"] == "name"]
    assert all(normalised(TEXTS[e.doc_id][1][e.start:e.end]) == e.entity.split(" [")[0] for e in named.itertuples())


def test_a_pronoun_means_the_topic_and_a_letter_names_nothing():
    texts = {"d": ("Marl", "Elmer Vane swims near Tollwick in the Marl. It is cold near B there. He left.")}
    edges = ace_graph.tables(list(passages(texts).values()))[1]
    meant = edges[edges["how"] == "introduction"].set_index("claim")["entity"]
    assert meant.to_dict() == {1: "marl", 2: "elmer vane"} and "b" not in set(edges["entity"])


def test_a_last_name_is_shared_across_documents_by_one_person_only():
    texts = {"a": ("Isott Vane", "Isott Vane drew bridges."), "b": ("Tollwick", "Tollwick paid Vane badly.")}
    def named(world):
        return set(ace_graph.tables(list(passages(world).values()))[1].query("doc_id == 'b'")["entity"])

    assert "isott vane" in named(texts)
    assert "vane" in named(texts | {"c": ("Elmer Vane", "Elmer Vane keeps bees.")})  # two bearers
    assert "vane" in named(texts | {"c": ("Vane", "A vane turns.")})  # a title of its own


def test_what_is_merged_by_hand():
    world = passages()
    kept, sources = ace.merge(candidates(world), world)
    # the same birth told twice is one claim; 1703 for 1702, "not born", and another bridge's "It closed in 1983" stay
    assert sources[["snippet_id", "source_id", "doc_id"]].values.tolist() == [["vane@0", "hythe@1", "hythe"]]
    assert TEXTS["hythe"][1][sources["start"].iat[0]:sources["end"].iat[0]] == TEXTS["vane"][1][:57]
    assert len(kept) == len(candidates(world)) - 1 and "vane@0" in set(kept["snippet_id"])


@pytest.mark.parametrize("a, b", [
    ("Isott Vane paid 15 ondrals.", "Isott Vane paid 250 ondrals."), ("Isott Vane paid fifteen ondrals.", "Isott Vane paid fifty ondrals."),
    ("Isott Vane paid ondrals.", "Isott Vane paid no ondrals."), ("Isott Vane drew Tollwick.", "Isott Vane drew Dravitsa."),
    ("Isott Vane drew after Tollwick.", "Isott Vane drew before Tollwick."), ("Isott Vane drew.", "Isott Vane didn't draw."), ("It closed.", "It closed.")])
def test_claims_that_assert_different_things_stay_apart(a, b):
    world = passages({"a": ("One", a), "b": ("Two", b)})
    assert len(ace.merge(candidates(world, {"a": 1, "b": 2}), world)[1]) == 0
    named = a.replace("It", "Elmer"), a.replace("It", "Elmer")
    world = passages({"a": ("One", named[0]), "b": ("Two", named[1])})
    assert len(ace.merge(candidates(world, {"a": 1, "b": 2}), world)[1]) == 1  # while the same sentence twice is one


def some(letters, most):
    return st.frozensets(st.sampled_from(letters), max_size=most)


CONTENT = st.builds(lambda terms, numbers, turns, entities: Content(terms | numbers, numbers, turns, entities),
                    some("abcdef", 6), some("12", 1), some(["not"], 1), some("XY", 2))


@SEARCH
@given(st.lists(CONTENT, max_size=8), st.sampled_from([0.5, 0.8, 1.0]))
def test_what_is_shown_says_what_it_stands_for(said, contained):
    stands = merged(said, contained)
    assert all(stands[j] == j for j in stands)  # what is shown is shown for itself, so nothing vanishes
    for i, j in enumerate(stands):
        if i != j:
            assert says(said[j], said[i], contained) and len(said[i].terms & said[j].terms) >= contained * len(said[i].terms)
            assert said[i].numbers == said[j].numbers and said[i].turns == said[j].turns and said[i].entities <= said[j].entities
            assert (len(said[j].terms), -j) > (len(said[i].terms), -i)
    shown = [j for i, j in enumerate(stands) if i == j]
    assert merged([said[j] for j in shown], contained) == list(range(len(shown)))  # merging again changes nothing
    assert not any(says(said[a], said[b], contained) and len(said[a].terms) > len(said[b].terms) for a in shown for b in shown if a != b)


def test_stricter_merging_merges_no_more():
    world = passages({"a": ("One", "Isott Vane drew bridges, mills, weirs and locks."), "b": ("Two", "Isott Vane drew bridges, mills and barns.")})
    counts = [len(ace.merge(candidates(world, {"a": 1, "b": 2}), world, c)[1]) for c in (0.5, 0.8, 0.9, 1.0)]
    assert counts == [1, 1, 0, 0]
    with pytest.raises(ValueError, match=r"share in \(0, 1\], got 0"):
        ace_merge.merged([], 0)


def test_names_and_order_of_documents_change_nothing():
    world = passages()
    renamed = {f"z{d[::-1]}": p._replace(doc_id=f"z{d[::-1]}") for d, p in reversed(world.items())}
    assert kept_text(world) == kept_text(renamed, {f"z{d[::-1]}": k for d, k in RANKS.items()})
    rows = candidates(world)
    shuffled = rows.sample(frac=1, random_state=3)
    assert sorted(ace.merge(rows, world)[0]["snippet_id"]) == sorted(ace.merge(shuffled, world)[0]["snippet_id"])


def test_questions_are_merged_apart():
    world = passages()
    pools = {"q1": ["vane", "hythe"], "q2": ["vane", "bridge"]}
    rows = pd.concat([candidates(world, qid=q).query("doc_id in @docs") for q, docs in pools.items()], ignore_index=True)
    kept, sources = ace.merge(rows, world)
    assert set(sources["qid"]) == {"q1"} and kept.groupby("qid").size().to_dict() == {"q1": 6, "q2": 7}
    with pytest.raises(ValueError, match="1 documents of the candidates were not parsed, first 'vane'"):
        ace.merge(rows, {d: p for d, p in world.items() if d != "vane"})


def test_compression_counts_claims_and_tokens():
    world = passages()
    rows, parts = candidates(world), ace.spans(world, words)
    kept, sources = ace.merge(rows, world)
    one = ace.compression(rows, sources, parts).iloc[0]
    own = {f"{p.doc_id}@{k}": words([p.text[c.start:c.end] + "\n"])[0] for p in world.values() for k, c in enumerate(p.claims)}
    assert one["n_claims"] == len(rows) and one["n_merged"] == 1 and one["n_documents"] == 5  # the empty passage has no claim
    assert one["tokens_claims"] == sum(own.values()) and one["tokens_merged"] == one["tokens_claims"] - own["hythe@1"]
    assert one["tokens_shown"] == kept["n_tokens"].sum()
    nothing = ace.compression(rows, sources.iloc[:0], parts).iloc[0]
    assert nothing["n_merged"] == 0 and nothing["tokens_merged"] == nothing["tokens_claims"]


def test_repeated_characters_are_those_shown_twice():
    world = passages()
    parts = ace.spans(world, words)
    key = {"dataset": "ondrell", "qid": "q", "pack_id": "p", "policy": "naive"}
    packs = pd.DataFrame([{**key, "budget": 1, "snippet_id": s} for s in ("vane@1", "vane@3")] + [{**key, "budget": 2, "snippet_id": "vane@1"}])
    table = ace.repeated(packs, parts).set_index("budget")
    assert table.loc[1, "repeated"] == len("The engineer Isott Vane was born in Gedney Hythe in 1702. ") and table.loc[2, "repeated"] == 0
    assert table.loc[2, "characters"] == len("The engineer Isott Vane was born in Gedney Hythe in 1702. She drew the Old Bridge of Tollwick.")


def test_answers_that_only_a_seam_makes_are_found():
    world = passages()
    rows = candidates(world)

    def found(answer):
        asked = pd.DataFrame({"qid": ["q"], "answers": [[answer]], "question_type": ["single"]})
        return ace.across_seams(rows, asked, world)["snippet_id"].tolist()

    assert found("1702 Vane died") == ["vane@3"]
    assert found("1702 she drew") == []  # the source itself goes on like this
    assert found("1702") == []


def snippets_table(world, question="Who was born in Gedney Hythe?"):
    kept, _ = ace.merge(candidates(world), world)
    return kept.assign(representation="ace", relevance=evidence.lexical_relevance(question, kept["text"].tolist(), {})), question


def test_the_snippets_table_fits_its_declaration_and_every_packer_runs_on_it():
    world = passages()
    table, question = snippets_table(world)
    checked = tables.check(table, "snippets")
    assert len(checked) == len(table)
    vectors = retrieval.truncate(Letters().encode(table["text"].tolist()))
    c = evidence.candidates(question, table, vectors, np.zeros(len(table), bool))
    c = dataclasses.replace(c, chance=c.relevance, surprise=c.relevance)  # what models would say
    cost = dict(zip(table["snippet_id"], table["n_tokens"]))
    for policy in packers.PACKERS:
        for budget in (10, 40, 1000):
            picks = packers.pack(c, policy, budget)
            assert sum(cost[c.ids[i]] for i, _ in picks) <= budget and len({i for i, _ in picks}) == len(picks)
        if policy not in ("gold", "random", "tuned"):  # tuned leaves out what adds hardly anything
            assert {c.ids[i] for i, _ in packers.pack(c, policy, 1000)} == set(table["snippet_id"])


def test_a_chunk_and_a_claim_have_different_ids():
    rows = documents()
    assert not set(evidence.chunk(rows, words, 8)["snippet_id"]) & set(ace.cut(passages(), words)["snippet_id"])


def test_empty_and_wrong_input():
    assert ace.cut({}, words).empty and ace.spans({}, words).empty
    empty = candidates(passages()).iloc[:0]
    kept, sources = ace.merge(empty, {})
    assert kept.empty and sources.columns.tolist() == ace.SOURCES
    assert ace.compression(empty, sources, ace.spans({}, words)).empty
    entities, edges = ace_graph.tables([])
    assert entities.empty and list(edges) == ["doc_id", "claim", "entity", "start", "end", "how", "label"]
    with pytest.raises(ValueError, match=r"kinds of subject out of person, thing, that, alias, definite, got \['he'\]"):
        passages(introduced=("he",))
    with pytest.raises(ValueError, match="6 documents need as many parses, got 0"):
        ace_claims.passages(documents(), [])
    twice = pd.concat([documents(), documents(dataset="other")])
    with pytest.raises(ValueError, match="'vane' names two documents; take one data set at a time"):
        ace_claims.passages(twice, [{"claims": [], "names": []}] * len(twice))
