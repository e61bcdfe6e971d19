"""Support without a span: each scorer on rows whose right order is known, what is missing, and what is stored. No model is loaded here."""
import hashlib
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from lib import cross_encoder, readers, reading, scores, support, tables
from lib.scorers import every_form, family, kind, reader_of, scorer_name
from lib.store import Store
from lib.support import entailment, judged, keys, likelihood_pairs, score_all, similarity, weighed

ASKED = [  # qid, question_type, question, answers, context
    ("q1", "bridge", "Where does it end?", ["Aumes", "sea of Aumes"], "The Marl ends in Aumes.\nBees sleep."),
    ("q1", "bridge", "Where does it end?", ["Aumes", "sea of Aumes"], "Bees sleep."),
    ("q1", "bridge", "Where does it end?", ["Aumes", "sea of Aumes"], ""),
    ("q2", "comparison_yesno", "Do bees sleep?", ["yes"], "Bees sleep."),
    ("q3", "free_form", "What do bees do?", ["They sleep in their hive."], "Bees sleep.\nThe hive is warm."),
]
SPECS = [{"reader": "smollm2-135m", "form": "lift"}, {"reader": "smollm2-135m", "form": "context"}, {"reader": "smollm2-135m", "form": "any"}, {"encoder": "minilm", "text": "answer"}, {"encoder": "minilm", "text": "question_answer"},
         {"cross_encoder": "support"}]


def rows():
    made = pd.DataFrame(ASKED, columns=["qid", "question_type", "question", "answers", "context"]).assign(dataset="ondrell")
    made["context_hash"] = [hashlib.sha256(c.encode()).hexdigest() for c in made["context"]]
    made["prompt"] = [readers.build_prompt(c, q) for c, q in zip(made["context"], made["question"])]
    closed = made.drop_duplicates("qid").assign(context="", context_hash="closed_book")
    questions = made.drop_duplicates("qid")[["dataset", "qid", "question_type"]]
    return judged(pd.concat([made.drop(columns="question_type"), made.drop(columns="question_type").head(1), closed]), questions)


class Weigher:
    """Each word of the answer costs 3 nats, 1 where the passages of the prompt hold it."""

    def __init__(self):
        self.asked = []

    def log_probabilities(self, prompts, continuations):
        self.asked += list(zip(prompts, continuations))
        shown = [p.rsplit("Passages:\n", 1)[-1].split("\nQuestion")[0].lower() if "Passages" in p else "" for p in prompts]
        return [(float(sum(-1 if w.lower() in s else -3 for w in c.split())), len(c.split())) for s, c in zip(shown, continuations)]


class Words:
    """A vector a text: which of a few words it holds."""

    name = "minilm"
    known = ("aumes", "marl", "sleep", "hive", "end", "bees")

    def encode(self, texts):
        return np.array([[w in t.lower() for w in self.known] for t in texts], np.float32)


@pytest.fixture
def models(monkeypatch):
    reader, pairs = Weigher(), []
    monkeypatch.setattr(readers, "open_reader", lambda spec: nullcontext(reader))
    monkeypatch.setattr(cross_encoder, "cross_encoder_group", lambda spec: {"model": spec["model"]})
    monkeypatch.setattr(cross_encoder, "score_pairs", lambda p, spec, store, scorer=None: pairs.extend(p) or [float(q.split()[-1].strip(".").lower() in s.lower()) for q, s in p])
    return reader, pairs


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "recorded", tmp_path / "store")


def table(store, specs=SPECS, known=None):
    return score_all(rows(), specs, store, known, encode=lambda name: Words(), cache=None)


def test_each_context_is_judged_once_and_the_closed_book_never():
    made = rows()
    assert len(made) == len(ASKED) and "closed_book" not in set(made["context_hash"])
    assert made["snippets"].map(len).tolist() == [2, 1, 0, 1, 2] and made["is_yes_no"].tolist() == [False, False, False, True, False]
    assert all("Passages" not in c and c.endswith(f"Question: {q}\nAnswer:") for c, q in zip(made["closed"], made["question"]))


def test_the_table_is_the_declared_one_and_what_cannot_be_judged_is_missing(models, store):
    out = tables.check(table(store), "support")
    assert len(out) == len(ASKED) * len(SPECS)
    missing = out[out["score"].isna()].groupby("scorer").size().to_dict()
    blank = {scorer_name(s): 1 if kind(s) == "reader" else 2 for s in SPECS}  # the empty context; and yes, where no reader is asked
    assert missing == blank


def test_lift_is_what_the_context_adds_a_token_for_the_answer_it_helps_most(store):
    made = rows().query("context != ''")
    found = weighed(made, {"model": "smollm2-135m"}, store, reader=Weigher())
    # q1 whole: "Aumes" 3 -> 1, "sea of Aumes" 9 -> 7 (a token 0.67): 2; without: 0; q2: "yes" not shown: 0; q3: "sleep" of five words: 2 / 5
    assert found == pytest.approx([2.0, 0.0, 0.0, 0.4], abs=1e-5)
    alone = weighed(made, {"model": "smollm2-135m"}, store, "context", reader=Weigher())
    assert alone[0] == -1.0 and alone[1] == -3.0


def test_any_answer_adds_probabilities_up_and_is_no_mean(store):
    made = rows().query("context != ''")
    found = weighed(made, {"model": "smollm2-135m"}, store, "any", reader=Weigher())
    assert found[0] == pytest.approx(np.log(np.exp(-1) + np.exp(-7))) and found[3] == pytest.approx(-13.0)  # one of five words: 1 + 4 x 3


def test_a_reader_is_asked_each_prompt_and_answer_once_and_what_it_is_asked_is_what_is_recorded(models, store):
    table(store)
    reader, _ = models
    assert len(reader.asked) == len(set(reader.asked)) and {(p, a[1:]) for p, a in reader.asked} == set(likelihood_pairs(rows()))


def test_similarity_takes_the_nearest_snippet_and_the_answer_alone_or_with_its_question():
    made = rows().query("context != ''")
    found = similarity(made, Words(), cache=None)
    assert found[0] == pytest.approx(1 / np.sqrt(3)) and found[1] == 0.0  # "Aumes" against marl, aumes, end; against sleep, bees
    assert found[3] == pytest.approx(max(1 / 2, 1 / np.sqrt(2)), abs=1e-6)  # sleep, hive against sleep, bees; against hive
    with_question = similarity(made, Words(), "question_answer", cache=None)
    assert with_question[0] == pytest.approx(2 / np.sqrt(2 * 3), abs=1e-6)


def test_the_cross_encoder_reads_question_answer_and_one_snippet_and_its_best_counts(models, store):
    made = rows().query("context != '' and not is_yes_no")
    assert entailment(made, {"model": "support"}, store).tolist() == [1.0, 0.0, 1.0]
    _, pairs = models
    assert pairs[:2] == [("Where does it end? Aumes", "The Marl ends in Aumes."), ("Where does it end? Aumes", "Bees sleep.")]
    assert set(support.entailment_pairs(rows())) == set(pairs)


def test_a_pair_without_a_score_is_passed_over(models, store, monkeypatch):
    monkeypatch.setattr(cross_encoder, "score_pairs", lambda p, spec, store, scorer=None: [np.nan] + [0.5] * (len(p) - 1))
    assert entailment(rows().query("context != '' and not is_yes_no"), {"model": "support"}, store).tolist() == [0.5, 0.5, 0.5]


def test_more_context_never_lowers_similarity_and_entailment(models, store):
    longer = rows().query("context != '' and not is_yes_no").assign(snippets=lambda t: [[*s, "The Marl ends in Aumes where bees sleep in a hive."] for s in t["snippets"]])
    shorter = rows().query("context != '' and not is_yes_no")
    assert (similarity(longer, Words(), cache=None) >= similarity(shorter, Words(), cache=None)).all()
    assert (entailment(longer, {"model": "support"}, store) >= entailment(shorter, {"model": "support"}, store)).all()


def test_a_committed_score_is_taken_and_its_model_never_asked(models, store, tmp_path):
    made = table(store)
    hashed = pd.concat([rows()[support.KEY].assign(scorer=scorer_name(s), support_hash=keys(rows(), s)) for s in SPECS])
    scores.export_support(made.merge(hashed, on=[*support.KEY, "scorer"]), "real", tmp_path)
    known, reader = scores.committed_support(tmp_path), models[0]
    reader.asked.clear()
    models[1].clear()
    fresh = Store(tmp_path / "r", tmp_path / "s")
    pd.testing.assert_frame_equal(table(fresh, known=known), made, rtol=1e-5)
    assert not reader.asked and not models[1]
    assert len(list(tmp_path.glob("real-*.csv"))) == len(SPECS) and not any("Marl" in p.read_text() for p in tmp_path.glob("*.csv"))


def test_the_hash_of_a_score_follows_everything_that_decides_it(models):
    made = rows()
    every = [keys(made, s) for s in SPECS] + [keys(made, {"reader": "smollm2-135m", "precision": "bf16"}), keys(made.assign(question="other"), SPECS[0]),
                                              keys(made.assign(answers=[["other"]] * len(made)), SPECS[0]), keys(made.assign(context_hash="other"), SPECS[0])]
    assert len({h for hashes in every for h in hashes}) == sum(len(set(h)) for h in every)


@pytest.mark.parametrize("spec, message", [
    ({"model": "minilm"}, "names one of reader, encoder, cross_encoder"), ({"reader": "a", "encoder": "b"}, "names one of"), ("minilm", "names one of"),
    ({"reader": "smollm2-135m", "form": "ratio"}, "form of scorer 'smollm2-135m' must be one of lift, context, any, got 'ratio'"),
    ({"encoder": "minilm", "pool": "max"}, r"scorer 'minilm' has no option \['pool'\]; there are \['text'\]"),
    ({"reader": "smollm2-135m", "precison": "bf16"}, r"a reader has no field \['precison'\]")])
def test_a_wrong_scorer_is_one_clear_error(spec, message):
    with pytest.raises(ValueError, match=message):
        every_form([spec])


def test_scorers_have_names_of_their_own_and_none_stands_twice():
    names = [scorer_name(s) for s in every_form(SPECS)]
    assert names == ["smollm2-135m fp32 log-probability, lift", "smollm2-135m fp32 log-probability, with the context", "smollm2-135m fp32 log-probability, any answer",
                     "minilm similarity, answer alone", "minilm similarity, with the question", "cross-encoder support"]
    assert [scorer_name(s) for s in every_form([{"reader": "smollm2-135m"}, {"encoder": "minilm"}, {"cross_encoder": "support"}])] == names, "without a form: all forms"
    assert [family(n) for n in names] == ["smollm2-135m fp32 log-probability"] * 3 + ["minilm similarity"] * 2 + ["cross-encoder support"]
    assert reader_of({"reader": "m", "precision": "bf16", "form": "context"}) == {"model": "m", "precision": "bf16"}
    with pytest.raises(ValueError, match="scorers names one twice"):
        every_form([SPECS[0], {**SPECS[0], "precision": "fp32", "form": "lift"}])
    with pytest.raises(ValueError, match="scorers must be a list"):
        every_form({"encoder": "minilm"})


def test_without_scorers_or_contexts_the_table_is_empty(models, store):
    assert len(tables.check(table(store, []), "support")) == 0
    assert len(tables.check(score_all(rows().iloc[:0], SPECS[:2], store), "support")) == 0


def test_the_live_check_asks_the_last_reader_and_nothing_without_one(models, store, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(reading, "check_likelihoods", lambda pairs, spec, store, n: told.append((spec["model"], n, len(pairs))))
    support.check_live(rows(), [{"reader": "qwen2.5-coder-0.5b"}, *SPECS], store, n=5)
    support.check_live(rows(), [{"encoder": "minilm"}], store, n=5)
    support.check_live(rows(), SPECS, store, n=0)
    assert told == [("smollm2-135m", 5, len(likelihood_pairs(rows())))]
