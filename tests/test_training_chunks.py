"""Chunks, their support and their pairs: labels say what they claim, variants see as much, and what was taught before has not changed."""
from hashlib import sha256
from itertools import product

import pandas as pd
import pytest

from lib import cross_encoder_recipe, train_targets, training_chunks, training_evidence
from lib.targets import check_fair
from lib.training_chunks import KEY, LABELS, NEGATIVES, Chunk, cases, chunk_pairs, chunks_of, roles_of, shares
from lib.training_evidence import evidence, facts, sample_facts
from tests import invented
from tests.test_training_pairs import N, shuffled, world

VARIANTS = list(product(LABELS, NEGATIVES))


@pytest.fixture(scope="module")
def tables():
    """The invented questions of tests.test_training_pairs: the second sentence of a person supports, and the first of a picture."""
    made = world()
    rows = [(d, q, f"{q}-{name}", sentence) for d, q in zip(made["questions"]["dataset"], made["questions"]["qid"])
            for name, sentence in (("person", 1), ("picture", 0))]
    return {**made, "evidence": pd.DataFrame(rows, columns=training_evidence.EVIDENCE)}


@pytest.fixture(scope="module")
def variants(tables):
    return {(label, negatives): chunk_pairs(tables, label, negatives, each=4) for label, negatives in VARIANTS}


# --- which sentences support

def read(tmp_path, dataset, *records):
    return facts(dataset, [invented.write(tmp_path / "f.jsonl", *records)])


def sentences(told, documents):
    found = evidence(told, documents)
    return {(r.qid, documents.set_index("doc_id").loc[r.doc_id, "title"], r.sentence) for r in found.itertuples()}


def documents_of(tmp_path, dataset, *records):
    return cross_encoder_recipe.datasets.load(dataset, {"path": invented.write(tmp_path / "d.jsonl", *records)})["documents"]


@pytest.mark.parametrize("dataset, record", [("hotpotqa", invented.hotpot()), ("2wiki", invented.twowiki())])
def test_named_sentences_are_the_releases(tmp_path, dataset, record):
    found = sentences(read(tmp_path, dataset, record), documents_of(tmp_path, dataset, record))
    assert found == {(record["_id"], "Edda Sorrel", 1), (record["_id"], "Marl", 1)}


def test_empty_sentences_shift_no_number_and_numbers_that_point_nowhere_are_left_out(tmp_path):
    context = [["Marl", ["", "The Marl is a river.", " It ends in the sea."]], ["Mill", ["A mill.", " "]], *invented.ELMERS]
    record = invented.hotpot(context=context, supporting_facts=[["Marl", 2], ["Marl", 7], ["Mill", 1], ["Marl", 0]])
    assert sentences(read(tmp_path, "hotpotqa", record), documents_of(tmp_path, "hotpotqa", record)) == {("h1", "Marl", 1)}


def test_of_two_paragraphs_with_one_title_the_first_is_meant(tmp_path):
    context = [["Marl", ["First.", " Second."]], ["Marl", ["Another.", " And more."]], *invented.ELMERS]
    record = invented.hotpot(context=context, supporting_facts=[["Marl", 1]])
    documents = documents_of(tmp_path, "hotpotqa", record)
    found = evidence(read(tmp_path, "hotpotqa", record), documents)
    assert list(found["sentence"]) == [1] and documents.set_index("doc_id").loc[found["doc_id"].iloc[0], "text"] == "First. Second."


def test_musiques_support_holds_what_its_step_yields(tmp_path):
    paragraphs = invented.musique()["paragraphs"]
    paragraphs[4]["paragraph_text"] = "It is old. The Eel Psalter lies in Tollwick. Nobody reads it."
    record = invented.musique(paragraphs=paragraphs)
    found = sentences(read(tmp_path, "musique", record), documents_of(tmp_path, "musique", record))
    assert found == {(record["id"], "The Eel Psalter", 1), (record["id"], "Old Bridge", 0), (record["id"], "Isott Vane", 0)}


def test_a_step_that_no_sentence_yields_is_undefined_and_an_alias_counts_at_the_last(tmp_path):
    steps = invented.musique()["question_decomposition"]
    steps[0]["answer"], steps[2]["answer"] = "nowhere", "no such place"
    record = invented.musique(question_decomposition=steps)
    found = sentences(read(tmp_path, "musique", record), documents_of(tmp_path, "musique", record))
    assert {title for _, title, _ in found} == {"Old Bridge", "Isott Vane"}


def test_records_without_sentence_labels_have_no_facts_and_unknown_sets_are_refused(tmp_path):
    assert read(tmp_path, "hotpotqa", invented.ircot()).empty
    with pytest.raises(ValueError, match="support is known of hotpotqa, 2wiki, musique, got the data set 'ragbench_covidqa'"):
        read(tmp_path, "ragbench_covidqa", invented.ragbench())


def test_the_sample_corpus_has_one_yield_a_hop_and_most_are_found():
    told = sample_facts()
    sample = cross_encoder_recipe.datasets.load("ondrell", {})
    found = evidence(told, sample["documents"])
    gold = set(zip(sample["gold"]["qid"], sample["gold"]["doc_id"]))
    assert set(zip(found["qid"], found["doc_id"])) <= gold and 0.95 < len(found[["qid", "doc_id"]].drop_duplicates()) / len(told) <= 1
    free = set(sample["questions"].query("question_type == 'free_form'")["qid"])
    assert free and not free & set(found["qid"])


# --- chunks and roles

def test_chunks_hold_every_sentence_once_after_the_title(tables):
    d = tables["documents"].iloc[0]
    for n in (1, 2, 3):
        cut = chunks_of(tables["documents"], n)[d.dataset, d.doc_id]
        assert " ".join(c.text.removeprefix(f"{d.title}. ") for c in cut) == d.text and [c.first for c in cut] == list(range(0, 2, n))
        assert [c.place for c in cut] == list(range(len(cut)))


def test_blank_sentences_give_no_chunk():
    row = {"dataset": "d", "doc_id": "m", "title": "Marl", "text": "  It floods.", "sentences": [[0, 1], [2, 12]]}
    assert chunks_of(pd.DataFrame([row]))["d", "m"] == [Chunk("m", 0, 1, "Marl. It floods.")]


def test_roles_are_support_siblings_and_other_passages(tables):
    roles = roles_of(tables, chunks_of(tables["documents"]))
    assert len(roles) == 2 * N
    q = roles["own_a", "own_a-0"]
    assert [(c.doc_id, c.first) for c in q.support] == [("own_a-0-person", 1), ("own_a-0-picture", 0)]
    assert [(c.doc_id, c.first) for c in q.sibling] == [("own_a-0-person", 0), ("own_a-0-picture", 1)]
    assert {c.doc_id for c in q.near} == {f"own_a-0-other{j}" for j in range(4)} and len(q.near) == 8
    two = roles_of(tables, chunks_of(tables["documents"], 2), 2)["own_a", "own_a-0"]
    assert len(two.support) == 2 and not two.sibling


def test_a_passage_without_known_support_has_no_role(tables):
    known = tables["evidence"][tables["evidence"]["doc_id"] != "own_a-0-person"]
    q = roles_of({**tables, "evidence": known}, chunks_of(tables["documents"]))["own_a", "own_a-0"]
    assert all(c.doc_id != "own_a-0-person" for part in q for c in part)
    assert not roles_of({**tables, "evidence": known[:0]}, chunks_of(tables["documents"]))


# --- pairs

def test_every_variant_sees_as_many_chunks_of_every_question(variants):
    sizes = {v: pairs.groupby(KEY).size() for v, pairs in variants.items()}
    assert all(size.equals(sizes["support", "mixed"]) for size in sizes.values()) and (sizes["support", "mixed"] == 10).all()
    check_fair({" ".join(v): pairs for v, pairs in variants.items()})
    assert not any(pairs.duplicated(["text_a", "text_b"]).any() for pairs in variants.values())


def test_an_unfair_variant_is_refused(tables, variants):
    with pytest.raises(ValueError, match="b is shown 288 pairs of 48 questions, a 480 of 48: variants must differ in their target alone"):
        check_fair({"a": variants["support", "mixed"], "b": chunk_pairs(tables, each=2)})


@pytest.mark.parametrize("negatives", ["mixed", "near"])
def test_the_two_labels_see_the_same_chunks_and_differ_on_siblings_alone(variants, negatives):
    a, b = variants["support", negatives], variants["document", negatives]
    pd.testing.assert_frame_equal(a.drop(columns="label"), b.drop(columns="label"))
    assert set(a.loc[a["label"] != b["label"], "kind"]) == {"sibling"} == set(b.loc[(b["label"] == 1) & (a["label"] == 0), "kind"])
    assert ((a["label"] == 1) == (a["kind"] == "support")).all()


def test_negatives_are_of_their_kind(tables, variants):
    kinds = {v: pairs[pairs["label"] == 0]["kind"].value_counts().to_dict() for v, pairs in variants.items()}
    assert set(kinds["support", "easy"]) == set(kinds["document", "easy"]) == {"easy"}
    assert set(kinds["support", "near"]) == {"sibling", "near"} and set(kinds["document", "near"]) == {"near"}
    assert set(kinds["support", "mixed"]) == {"sibling", "near", "easy"} and set(kinds["document", "mixed"]) == {"near", "easy"}
    assert kinds["support", "mixed"] == pytest.approx({"sibling": 96, "near": 144, "easy": 144}, abs=1)
    own = tables["pools"].groupby("qid")["doc_id"].agg(set)
    cut = chunks_of(tables["documents"])
    of = {(d, c.text): c.doc_id for (d, _), part in cut.items() for c in part}
    for r in variants["support", "mixed"].itertuples():
        assert (of[r.dataset, r.text_b] in own[r.qid]) == (r.kind != "easy")


def test_chunk_pairs_follow_the_seed_and_not_the_order_of_rows(tables, variants):
    for (label, negatives), pairs in variants.items():
        pd.testing.assert_frame_equal(pairs, chunk_pairs(shuffled(tables), label, negatives, each=4))
    other = chunk_pairs(tables, each=4, seed=1)
    assert set(other.query("label == 1")["text_b"]) == set(variants["support", "mixed"].query("label == 1")["text_b"])
    assert set(other.query("label == 0")["text_b"]) != set(variants["support", "mixed"].query("label == 0")["text_b"])


def test_a_cap_takes_questions_of_each_set_by_hash_and_a_higher_one_keeps_them(tables, variants):
    few, more = (chunk_pairs(tables, each=4, questions=n) for n in (5, 9))
    assert few.groupby("dataset")["qid"].nunique().eq(5).all() and set(few["qid"]) < set(more["qid"])
    whole = variants["support", "mixed"]
    pd.testing.assert_frame_equal(few, whole[whole["qid"].isin(few["qid"])].reset_index(drop=True))


def test_few_near_chunks_shorten_every_variant_alike(tables):
    few = {**tables, "pools": tables["pools"][~tables["pools"]["doc_id"].str.contains("other[123]")]}
    made = {f"{a} {b}": chunk_pairs(few, a, b, each=4) for a, b in VARIANTS}
    check_fair(made)
    assert made["support near"].groupby("qid").size().eq(5).all(), "2 right, 1 sibling, 2 of the other passage"


def test_one_question_or_no_gold_gives_right_chunks_alone_or_nothing(tables):
    one = {k: t[t["qid"] == "own_a-0"] if "qid" in t else t for k, t in tables.items()}
    made = {f"{a} {b}": chunk_pairs(one, a, b) for a, b in VARIANTS}
    check_fair(made)
    assert all(set(p["kind"]) == {"support"} for p in made.values()), "nothing unrelated is at hand, so that no variant has wrong chunks"
    assert chunk_pairs({**tables, "gold": tables["gold"][:0]}).empty and cases({**tables, "gold": tables["gold"][:0]}).empty


def test_shares_by_hand_over_a_grid():
    for wanted, siblings, near in product(range(8), range(5), range(8)):
        n, s = shares(wanted, siblings, near)
        assert s <= siblings and n - s <= near and n <= wanted and s <= (n + 1) // 3
        assert n == wanted or n + 1 - min(siblings, (n + 2) // 3) > near, "one more would lack a near chunk"


@pytest.mark.parametrize("settings, said", [
    ({"label": "passage"}, "label must be one of document, support, got 'passage'"), ({"negatives": "hard"}, "negatives must be one of mixed, near, easy"),
    ({"each": -1}, "each must be a whole number of 0 or more, got -1"), ({"sentences": 0}, "a chunk needs 1 sentence or more"),
    ({"questions": 1.5}, "questions must be a whole number")])
def test_wrong_settings_of_chunks_are_said(tables, settings, said):
    with pytest.raises(ValueError, match=said):
        chunk_pairs(tables, **settings)
    with pytest.raises(ValueError, match="chunk pairs need the table evidence"):
        chunk_pairs({k: t for k, t in tables.items() if k != "evidence"})


# --- what is scored

def test_cases_hold_all_support_and_distractors_of_each_kind(tables):
    made = cases(tables, siblings=1, near=2, easy=3)
    assert list(made) == training_chunks.CASES
    counts = made.groupby(["qid", "kind"]).size().unstack()
    assert (counts[["support", "sibling", "near", "easy"]] == [2, 2, 2, 3]).all(axis=None)
    assert not made.duplicated([*KEY, "doc_id", "chunk"]).any()
    pd.testing.assert_frame_equal(made, cases(shuffled(tables), siblings=1, near=2, easy=3))


# --- the committed recipe, and what was taught before

def test_variants_of_the_recipe_differ_from_the_first_in_their_target_alone():
    recipe, base = cross_encoder_recipe.read_recipe(train_targets.RECIPE), cross_encoder_recipe.read_recipe()
    assert {k: recipe[k] for k in ("held_out", "training", "evaluation")} == {k: base[k] for k in ("held_out", "training", "evaluation")}
    usual = recipe["models"]["support_mixed"]
    for name, model in recipe["models"].items():
        assert name == f"{model['pairs']['label']}_{model['pairs']['negatives']}" and name not in base["models"]
        same = {k: v for k, v in model["pairs"].items() if k not in ("label", "negatives")}
        assert same == {k: v for k, v in usual["pairs"].items() if k not in ("label", "negatives")}
        assert {k: model[k] for k in ("target", "base", "training")} == {k: usual[k] for k in ("target", "base", "training")}


def test_the_pairs_of_the_committed_models_have_not_changed():
    wanted = {"reranker": (4654, "db6520ca45f86b6aa94b7b628106a13679f9433089584a0a522f438f1c939cdc"),
              "support": (3747, "f1caf6bc968266f27862be154c38e2b531e673401e1031fff633a6def4b1617d")}
    recipe = cross_encoder_recipe.read_recipe()
    try:
        tables, _ = cross_encoder_recipe.training_tables(recipe)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    learn, _ = cross_encoder_recipe.split(tables, recipe["held_out"])
    made = {name: cross_encoder_recipe.pairs_of(recipe["models"][name], learn) for name in wanted}
    assert {name: (len(pairs), sha256(pairs.to_csv(index=False).encode()).hexdigest()) for name, pairs in made.items()} == wanted
