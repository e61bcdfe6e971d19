"""The recorded layer: exactly what today's prompts ask for, and a live run that says how far it agrees."""
import pandas as pd
import pytest

from lib import cross_encoder, likelihood, reading, record, store, support, tables
from lib.reader_spec import Generation, build_prompt

CONTEXT = "Ysha is in the north.\nEdda keeps bees."
SCORERS = [{"reader": "smollm2-135m"}, {"reader": "smollm2-135m", "form": "context"}, {"encoder": "minilm"}, {"cross_encoder": "support"}]


class Echo:
    """Answers with the last word of the question; gives each answer minus its length."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def generate(self, prompts):
        return [Generation(" " + p.split("Question: ")[-1].split("?")[0].split()[-1], 5, 1) for p in prompts]

    def log_probabilities(self, prompts, continuations):
        return [(-float(len(c)) - self.shift, len(c.split())) for c in continuations]


def judged():
    """Two questions, a context each and an empty one."""
    rows = pd.DataFrame({"dataset": "d", "qid": ["a", "b", "b"], "context_hash": ["h", "k", "e"], "question": ["where is Ysha?", "who is Edda?", "who is Edda?"],
                         "answers": [["north", "the north"], ["beekeeper"], ["beekeeper"]], "context": [CONTEXT, CONTEXT, ""]})
    rows["prompt"] = [build_prompt(c, q) for c, q in zip(rows["context"], rows["question"])]
    return support.judged(rows, pd.DataFrame({"dataset": "d", "qid": ["a", "b"], "question_type": "single"}))


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Prompts, one reader, four scorers, and both layers in a temporary folder."""
    made, reader = store.Store(recorded=tmp_path / "recorded", cache=tmp_path / "cache"), Echo()
    want = record.Asked(sorted(judged()["prompt"]), [{"model": "smollm2-135m"}], judged(), SCORERS)
    monkeypatch.setattr(record, "Store", lambda ignore_recorded=False: made)
    monkeypatch.setattr(record, "asked", lambda tier="sample": want)
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(record, "read_prompts", lambda prompts, spec, s: reading.readers.read_prompts(prompts, spec, s, reader=reader, progress=False))
    weigh, again, told = likelihood.likelihoods, likelihood.regenerate, reading.readers.regenerate
    monkeypatch.setattr(likelihood, "likelihoods", lambda pairs, spec, s: weigh(pairs, spec, s, reader=reader))
    monkeypatch.setattr(likelihood, "regenerate", lambda pairs, spec, s, n: again(pairs, spec, s, n=n, reader=reader))
    monkeypatch.setattr(record, "regenerate", lambda prompts, spec, s, n: told(prompts, spec, s, n=n, reader=reader))
    group = {"kind": "cross_encoder", "model": "support", "revision": "sha256:x", "precision": "fp32", "decoding": {}}
    for module in (record, cross_encoder):
        monkeypatch.setattr(module, "cross_encoder_group", lambda spec: group)
        monkeypatch.setattr(module, "pair_keys", lambda pairs, spec: [store.entry_key(group, list(p)) for p in pairs])
        monkeypatch.setattr(module, "score_pairs", lambda pairs, spec, s: s.put_many(group, {store.entry_key(group, list(p)): 0.5 for p in pairs}))
    return tmp_path, reader


def test_record_writes_one_row_a_prompt_answer_and_pair_and_the_same_bytes_twice(world, capsys):
    folder, _ = world
    record.record()
    first = {p.name.rsplit("-", 1)[0]: p.read_bytes() for p in (folder / "recorded").glob("*.jsonl")}
    record.record()
    assert {p.name.rsplit("-", 1)[0]: p.read_bytes() for p in (folder / "recorded").glob("*.jsonl")} == first
    rows = {name: len(text.splitlines()) - 1 for name, text in first.items()}
    assert rows == {"answer-smollm2_135m-fp32": 3, "log_probability-smollm2_135m-fp32": 6, "cross_encoder-support-fp32": 4}  # (2 + 1 answers) x 2; 2 questions x 2 snippets
    said = capsys.readouterr().out
    assert "smollm2-135m: 3 answers" in said and "smollm2-135m: 6 log-probabilities" in said and "cross-encoder support: 4 scores" in said


def test_without_the_trained_weights_the_rest_is_recorded_and_the_reason_is_said(world, capsys, monkeypatch):
    def untrained(pairs, spec, s):
        raise cross_encoder.CrossEncoderError("cross-encoder 'support' is not trained here")

    monkeypatch.setattr(record, "score_pairs", untrained)
    record.record()
    assert "cross-encoder support: the recorded scores stay as they are (cross-encoder 'support' is not trained here)" in capsys.readouterr().out
    assert {p.name.split("-")[0] for p in (world[0] / "recorded").glob("*.jsonl")} == {"answer", "log_probability"}


def test_a_live_run_says_how_far_answers_and_log_probabilities_agree(world, capsys):
    record.record()
    world[1].shift = 1.0
    capsys.readouterr()
    assert record.live(0) == 0
    said = capsys.readouterr().out
    assert "smollm2-135m fp32: 3 of 3 live answers equal the recorded ones (100.0%)" in said
    assert "smollm2-135m fp32: 0 of 6 live log-probabilities equal the recorded ones (0.0%)" in said and "who is Edda? beekeeper" in said


def test_scorers_that_differ_in_form_alone_are_asked_once():
    want = record.Asked([], [], judged(), [*SCORERS, {"reader": "smollm2-135m", "precision": "bf16"}])
    assert [s.get("precision") for s in want.of_kind("reader")] == [None, "bf16"] and len(want.of_kind("cross_encoder")) == 1


def test_scores_of_contexts_are_exported_with_a_hash_and_without_text(world, monkeypatch, tmp_path):
    from lib import scores

    table = judged()[support.KEY].assign(scorer="minilm similarity, answer alone", score=[0.5, 0.25, None])
    answers = pd.DataFrame({"dataset": ["d"], "qid": ["a"], "prompt_hash": ["x"], "reader": ["r"], "precision": ["fp32"], "em": [1.0], "f1": [1.0], "em_raw": [1.0],
                            "f1_raw": [1.0], "n_prompt_tokens": [1], "n_new_tokens": [1]})
    monkeypatch.setattr(record.tables, "read", lambda name, tier: {"answers": answers, "support": table}[name])
    for name in ("export", "export_support"):
        write = getattr(scores, name)
        monkeypatch.setattr(scores, name, lambda rows, tier, write=write, name=name: write(rows, tier, tmp_path / "scores" / ("support" if name == "export_support" else "")))
    assert record.export_scores("real") == ["scores/real-r-fp32.csv", "scores/support/real-minilm-similarity-answer-alone.csv"]
    known = scores.committed_support(tmp_path / "scores" / "support")
    assert scores.support_for(["d", "d"], ["a", "b"], support.keys(judged(), SCORERS[2])[:2], known).tolist() == [0.5, 0.25]
    assert "Ysha" not in (tmp_path / "scores" / "support" / "real-minilm-similarity-answer-alone.csv").read_text()


def test_the_sample_reads_what_params_say():
    if not tables.TABLES["contexts"].path("sample").exists():
        pytest.skip("the sample chain has not run yet")
    want = record.asked()
    contexts = tables.read("contexts", "sample")
    assert len(want.prompts) == len(set(want.prompts)) and [s["model"] for s in want.readers] == ["qwen2.5-coder-0.5b", "smollm2-135m"]
    assert len(want.prompts) <= contexts["qid"].nunique() * 15 and all(isinstance(p, str) for p in want.prompts)
    assert not want.judged.duplicated(support.KEY).any() and set(want.judged["prompt"]) <= set(want.prompts)


def test_readings_cover_every_policy_and_closed_book():
    if not tables.TABLES["readings"].path("sample").exists():
        pytest.skip("the sample chain has not run yet")
    readings = tables.read("readings", "sample")
    counts = readings.groupby("policy")["qid"].nunique()
    assert "closed_book" in counts.index and counts.nunique() == 1
    assert (readings[readings["policy"] == "closed_book"]["budget"] == 0).all() and isinstance(readings, pd.DataFrame)
