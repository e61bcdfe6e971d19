"""Rungs: their names and order, what is answered already, and the one error that says how to come by the rest."""
import pandas as pd
import pytest

from lib import ladder_rungs, readers, reading, scores, store, weights
from lib.recorded import entry_key

SMOL, CODER = {"model": "smollm2-135m"}, {"model": "qwen2.5-coder-1.5b", "precision": "bf16"}


def asked(n=4):
    """n questions of two contexts each and closed book, in the order of their hashed ids."""
    qids = sorted((f"q{i}" for i in range(n)), key=reading.of_hash)
    rows = pd.DataFrame([(q, p) for q in qids for p in ("naive", "submod", "closed_book")], columns=["qid", "policy"]).assign(dataset="hotpotqa")
    return rows.assign(context_hash=rows["policy"] + rows["qid"], prompt=rows["policy"] + " Question: " + rows["qid"])


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A store of its own and a folder of weights in which only SmolLM2 was fetched."""
    monkeypatch.setattr(weights, "CACHE", tmp_path / "cache")
    (tmp_path / "cache" / "weights" / "smollm2-135m").mkdir(parents=True)
    return store.Store(recorded=tmp_path / "recorded", cache=tmp_path / "store")


def fill(where, spec, prompts):
    group = readers.answer_group(spec)
    where.put_many(group, {entry_key(group, p): {"raw_text": "x", "n_prompt_tokens": 1, "n_new_tokens": 1} for p in prompts})


def test_what_is_answered_is_counted_and_the_first_whole_questions_too(made):
    rows = asked()
    fill(made, SMOL, rows["prompt"])
    fill(made, CODER, rows["prompt"][:8])  # two whole questions and two thirds of the third
    table = ladder_rungs.at_hand(rows, [SMOL, CODER], made)
    assert table[["prompts", "answered", "questions", "asked", "fetched"]].to_numpy().tolist() == [[12, 12, 4, 4, True], [12, 8, 2, 4, False]]
    assert (table["reader"] + " " + table["precision"]).tolist() == ["smollm2-135m fp32", "qwen2.5-coder-1.5b bf16"]


def test_answers_of_one_number_format_do_not_count_for_another(made):
    rows = asked()
    fill(made, CODER, rows["prompt"])
    assert not ladder_rungs.answered(rows, {**CODER, "precision": "nf4"}, made).any() and ladder_rungs.answered(rows, CODER, made).all()


def test_a_committed_score_counts_as_answered(made):
    rows = asked()
    keys = [entry_key(readers.answer_group(CODER), p) for p in rows["prompt"]]
    known = rows[["dataset", "qid"]].assign(prompt_hash=keys, **dict.fromkeys(scores.VALUES, 1.0)).set_index(scores.KEY)
    assert ladder_rungs.require(rows, [CODER], made, known)["answered"].tolist() == [12]


def test_an_incomplete_rung_without_weights_names_the_command_and_the_number_that_works(made):
    rows = asked()
    fill(made, SMOL, rows["prompt"])
    fill(made, CODER, rows["prompt"][:8])
    with pytest.raises(ladder_rungs.LadderError, match=r"8 of 12 prompts are answered.*python -m lib\.weights qwen2\.5-coder-1\.5b.*questions_per_set to 2"):
        ladder_rungs.require(rows, [SMOL, CODER], made)
    fewer = rows[rows["qid"].isin(list(dict.fromkeys(rows["qid"]))[:2])]
    assert ladder_rungs.require(fewer, [SMOL, CODER], made)["answered"].tolist() == [6, 6]


def test_an_incomplete_rung_with_weights_is_left_to_the_reader_and_said(made, caplog):
    with caplog.at_level("WARNING"):
        ladder_rungs.require(asked(), [SMOL], made)
    assert "0 of 12 prompts are answered; the other 12 are read live" in caplog.text


@pytest.mark.parametrize(("rungs", "said"), [([], "one or more"), ("smollm2-135m", "a list"), ([SMOL, {**SMOL, "precision": "fp32"}], "twice"),
                                             (["x"], "blocks"), ([{"model": "smollm2-135m", "size": 3}], "no field")])
def test_wrong_rungs_are_refused_early(rungs, said):
    with pytest.raises(ValueError, match=said):
        ladder_rungs.check_rungs(rungs)


def test_order_is_by_size_then_by_fineness_and_unnamed_sizes_come_last():
    names = [("mine", "fp32"), ("a-7b", "nf4"), ("a-7b", "fp16"), ("b-270m", "bf16"), ("a-0.5b", "fp32")]
    assert ladder_rungs.ordered(names) == [("b-270m", "bf16"), ("a-0.5b", "fp32"), ("a-7b", "fp16"), ("a-7b", "nf4"), ("mine", "fp32")]
    assert ladder_rungs.climb(names) == [("b-270m", "bf16"), ("a-0.5b", "fp32"), ("a-7b", "fp16")]
    table = pd.DataFrame(names, columns=["reader", "precision"])
    assert [*map(tuple, ladder_rungs.sorted_rungs(table).to_numpy())] == ladder_rungs.ordered(names) and ladder_rungs.climb([("mine", "fp32")]) == []


def test_weights_that_were_4_bit_are_called_so():
    for name, entry in weights.REGISTRY.items():
        if entry.kind == "gguf":
            assert "already Q4" in ladder_rungs.weights_of(name, "fp32") and ladder_rungs.weights_of(name, "nf4") == "NF4 on weights that were already Q4"
    assert ladder_rungs.weights_of("Qwen2.5-3B-Instruct", "fp16") == "as released"


def test_the_ladder_reads_a_fixed_shuffle_of_the_data_sets_it_names():
    questions = pd.DataFrame({"dataset": ["hotpotqa"] * 30 + ["2wiki"] * 5, "qid": [f"q{i}" for i in range(35)], "question": "who?", "answers": [["x"]] * 35})
    contexts = pd.concat([questions[["dataset", "qid"]].assign(pack_id=pack, policy="submod", budget=160, context=pack, context_hash=pack)
                          for pack in ("own-dense-5.chunk", "own-dense-5.ace")])
    rows = ladder_rungs.asked(questions, contexts, ["submod"], 160, 10, ["hotpotqa"])
    first = set(sorted(questions["qid"][:30], key=reading.of_hash)[:10])
    assert set(rows["qid"]) == first and set(rows["policy"]) == {"submod", "closed_book"} and set(rows["pack_id"]) == {"own-dense-5.chunk", "none"}
    assert set(ladder_rungs.asked(questions, contexts, ["submod"], 160, 20, ["hotpotqa"])["qid"]) > first  # a longer sample holds the shorter one
    assert len(ladder_rungs.asked(questions, contexts, ["submod"], 160)) == 70
    with pytest.raises(ValueError, match="datasets names musique; this run has 2wiki, hotpotqa"):
        ladder_rungs.asked(questions, contexts, ["submod"], 160, 0, ["musique"])


def test_where_nothing_is_asked_nothing_is_answered_and_no_rung_lacks_anything(made):
    table = ladder_rungs.require(asked()[:0], [SMOL, CODER], made)
    assert table[["prompts", "answered", "questions", "asked"]].to_numpy().tolist() == [[0, 0, 0, 0]] * 2
    assert ladder_rungs.at_hand(asked()[:0], [], made).empty
