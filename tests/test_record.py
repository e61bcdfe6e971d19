"""The recorded layer: exactly what today's prompts ask for, and a live run that says how far it agrees."""
import pandas as pd
import pytest

from lib import cross_encoder, likelihood, reading, record, record_cross_encoder, record_rivals, record_scores, store, support, tables
from lib.reader_spec import Generation, build_prompt
from lib.recorded import group_name, read_recorded, write_recorded
from lib.weights import WeightsMissing

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
    want = record.Asked([record.Reads({"model": "smollm2-135m"}, sorted(judged()["prompt"]))], judged(), SCORERS)
    monkeypatch.setattr(record, "Store", lambda ignore_recorded=False: made)
    for module in (record, record_scores):
        monkeypatch.setattr(module, "asked", lambda tier="sample": want)
        monkeypatch.setattr(module, "ROOT", tmp_path)
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
    assert "smollm2-135m fp32: 3 answers" in said and "smollm2-135m fp32: 6 log-probabilities" in said and "cross-encoder support: 4 scores" in said


def test_without_the_trained_weights_the_rest_is_recorded_and_the_reason_is_said(world, capsys, monkeypatch):
    def untrained(pairs, spec, s):
        raise cross_encoder.CrossEncoderError("cross-encoder 'support' is not trained here")

    monkeypatch.setattr(record, "score_pairs", untrained)
    record.record()
    assert "cross-encoder support: the recorded scores stay as they are (cross-encoder 'support' is not trained here)" in capsys.readouterr().out
    assert {p.name.split("-")[0] for p in (world[0] / "recorded").glob("*.jsonl")} == {"answer", "log_probability"}


def test_a_rung_whose_weights_are_not_here_keeps_its_record_and_a_main_reader_is_an_error(world, capsys, monkeypatch):
    def missing(prompts, spec, s, **more):
        raise WeightsMissing("weights of gemma-3-270m are not in data/cache/weights")

    read = record.Reads({"model": "gemma-3-270m"}, ["Question: who?\nAnswer:"], rung=True)
    monkeypatch.setattr(record, "asked", lambda tier="sample": record.Asked([read], judged(), []))
    for name, run in (("read_prompts", record.record), ("regenerate", lambda: record.live(0))):
        monkeypatch.setattr(record, name, missing)
        run()
        assert "rung gemma-3-270m fp32:" in capsys.readouterr().out
    monkeypatch.setattr(record, "asked", lambda tier="sample": record.Asked([read._replace(rung=False)], judged(), []))
    with pytest.raises(WeightsMissing):
        record.record()


def test_each_reader_is_asked_its_own_prompts_and_the_same_reader_in_another_number_format_is_another():
    smol, coder = {"model": "smollm2-135m"}, {"model": "qwen2.5-coder-0.5b"}
    reads = record.reads_of([smol, coder], {"a", "b"}, [{**smol, "precision": "fp32"}, {**coder, "precision": "nf4"}], {"b", "c"})
    assert [r.prompts for r in reads] == [["a", "b", "c"], ["a", "b"], ["b", "c"]] and [r.rung for r in reads] == [False, False, True]
    assert reads[2].spec["precision"] == "nf4"
    assert record.reads_of([smol], {"a"}, [], set()) == [record.Reads(smol, ["a"])]


def test_scores_of_the_ladder_join_those_that_stand_in_a_file_and_none_is_lost(monkeypatch, tmp_path):
    from lib import ladder_forms, scores

    def scored(keys, f1, reader="r"):
        values = {"em": 0.0, "f1": f1, "em_raw": 0.0, "f1_raw": f1, "n_prompt_tokens": 1, "n_new_tokens": 1}
        return pd.DataFrame({"dataset": "d", "qid": list(keys), "prompt_hash": list(keys), "reader": reader, "precision": "fp32", **values})

    monkeypatch.setattr(scores, "FOLDER", tmp_path)
    scores.export(scored("ab", 0.1), "real", tmp_path)
    climbed = scored("bc", 0.2).assign(words=1.0, answer_precision=0.5, answer_recall=0.5, abstains=0.0, said="0a")
    monkeypatch.setattr(record.tables, "read", lambda name, tier: {"answers": scored("x", 0.3, "other"), "support": pd.DataFrame()}[name])
    monkeypatch.setattr(record_scores, "asked", lambda tier: record.Asked([], judged(), []))
    monkeypatch.setattr(record_scores, "ladder_answers", lambda tier: climbed)
    monkeypatch.setattr(record_scores, "handed_answers", lambda tier: scored("bd", 0.4))  # what notebook 07 had read
    monkeypatch.setattr(record_scores, "ROOT", tmp_path)
    write, form, support_of = scores.export, ladder_forms.export, scores.export_support
    monkeypatch.setattr(scores, "export", lambda rows, tier: write(rows, tier, tmp_path))
    monkeypatch.setattr(ladder_forms, "export", lambda rows, tier: form(rows, tier, tmp_path / "forms"))
    monkeypatch.setattr(scores, "export_support", lambda rows, tier: support_of(rows, tier, tmp_path / "support") if len(rows) else [])
    assert record_scores.export_scores("real") == ["real-other-fp32.csv", "real-r-fp32.csv", "forms/real-r-fp32.csv"]
    known = scores.committed(tmp_path).reset_index().set_index("qid")["f1"]
    assert known.to_dict() == {"x": 0.3, "a": 0.1, "b": 0.2, "c": 0.2, "d": 0.4}  # b was made anew, a stays
    assert len(ladder_forms.committed(tmp_path / "forms")) == 2
    first = {p.name: p.read_bytes() for p in tmp_path.rglob("*.csv")}
    record_scores.export_scores("real")
    assert {p.name: p.read_bytes() for p in tmp_path.rglob("*.csv")} == first


def test_of_an_unfinished_rung_what_is_answered_is_scored_and_no_model_runs(monkeypatch, tmp_path):
    from lib import ladder_rungs, reading, scores

    (tmp_path / "params.yaml").write_text("real: {reader_ladder: {policies: [submod], budget: 160, rungs: [{model: smollm2-135m}]}}\nown: {}\n")
    monkeypatch.setattr(record_scores, "ROOT", tmp_path)
    questions = pd.DataFrame({"dataset": "hotpotqa", "qid": ["a", "b"], "question": ["who is Edda?", "who is Elmer?"], "answers": [["Edda"], ["Elmer"]]})
    contexts = questions[["dataset", "qid"]].assign(pack_id="p", policy="submod", budget=160, context=["Edda.", "Elmer."], context_hash=["x", "y"])
    monkeypatch.setattr(record.tables, "read_all", lambda tier, *names: [questions, contexts])
    made, spec = store.Store(recorded=tmp_path / "recorded", cache=tmp_path / "cache"), {"model": "smollm2-135m"}
    rows = ladder_rungs.asked(questions, contexts, ["submod"], 160)
    reading.readers.read_prompts(rows.loc[rows["qid"] == "a", "prompt"].tolist(), spec, made, reader=Echo(), progress=False)
    monkeypatch.setattr(record_scores, "Store", lambda: made)
    monkeypatch.setattr(scores, "committed", scores.nothing)
    found = record_scores.ladder_answers("real")
    assert set(found["qid"]) == {"a"} and len(found) == 2 and found["prediction"].tolist() == ["Edda", "Edda"] and found["words"].tolist() == [1, 1]
    assert record_scores.ladder_answers("own").empty


def test_a_live_run_says_how_far_answers_and_log_probabilities_agree(world, capsys):
    record.record()
    world[1].shift = 1.0
    capsys.readouterr()
    assert record.live(0) == 0
    said = capsys.readouterr().out
    assert "smollm2-135m fp32: 3 of 3 live answers equal the recorded ones (100.0%)" in said
    assert "smollm2-135m fp32: 0 of 6 live log-probabilities equal the recorded ones (0.0%)" in said and "who is Edda? beekeeper" in said


def test_scorers_that_differ_in_form_alone_are_asked_once():
    want = record.Asked([], judged(), [*SCORERS, {"reader": "smollm2-135m", "precision": "bf16"}])
    assert [s.get("precision") for s in want.of_kind("reader")] == [None, "bf16"] and len(want.of_kind("cross_encoder")) == 1


def test_scores_of_contexts_are_exported_with_a_hash_and_without_text(world, monkeypatch, tmp_path):
    from lib import scores

    table = judged()[support.KEY].assign(scorer="minilm similarity, answer alone", score=[0.5, 0.25, None])
    answers = pd.DataFrame({"dataset": ["d"], "qid": ["a"], "prompt_hash": ["x"], "reader": ["r"], "precision": ["fp32"], "em": [1.0], "f1": [1.0], "em_raw": [1.0],
                            "f1_raw": [1.0], "n_prompt_tokens": [1], "n_new_tokens": [1]})
    monkeypatch.setattr(record.tables, "read", lambda name, tier: {"answers": answers, "support": table}[name])
    monkeypatch.setattr(record_scores, "ladder_answers", lambda tier: pd.DataFrame())
    for name in ("kept_scores", "handed_answers"):
        monkeypatch.setattr(record_scores, name, lambda tier: pd.DataFrame())
    for name in ("export", "export_support"):
        write = getattr(scores, name)
        monkeypatch.setattr(scores, name, lambda rows, tier, write=write, name=name: write(rows, tier, tmp_path / "scores" / ("support" if name == "export_support" else "")))
    assert record_scores.export_scores("real") == ["scores/real-r-fp32.csv", "scores/support/real-minilm-similarity-answer-alone.csv"]
    known = scores.committed_support(tmp_path / "scores" / "support")
    assert scores.support_for(["d", "d"], ["a", "b"], support.keys(judged(), SCORERS[2])[:2], known).tolist() == [0.5, 0.25]
    assert "Ysha" not in (tmp_path / "scores" / "support" / "real-minilm-similarity-answer-alone.csv").read_text()


def test_the_sample_reads_what_params_say():
    if not tables.TABLES["contexts"].path("sample").exists():
        pytest.skip("the sample chain has not run yet")
    want = record.asked()
    contexts = tables.read("contexts", "sample")
    main = [r for r in want.reads if not r.rung]
    assert [r.spec["model"] for r in main] == ["qwen2.5-coder-0.5b", "smollm2-135m"] and set(main[0].prompts) < set(main[1].prompts)  # 05 asks the small one more
    for read in want.reads:
        assert read.prompts == sorted(set(read.prompts)) 
    for read in (r for r in want.reads if r is not main[1]):
        assert len(read.prompts) <= contexts["qid"].nunique() * 18
        assert set(read.prompts) <= set(main[0].prompts)  # the ladder asks for nothing that notebook 03 does not ask of its readers
    assert not want.judged.duplicated(support.KEY).any() and set(want.judged["prompt"]) <= set(main[0].prompts)


def test_readings_cover_every_policy_and_closed_book():
    if not tables.TABLES["readings"].path("sample").exists():
        pytest.skip("the sample chain has not run yet")
    readings = tables.read("readings", "sample")
    counts = readings.groupby("policy")["qid"].nunique()
    assert "closed_book" in counts.index and counts.nunique() == 1
    assert (readings[readings["policy"] == "closed_book"]["budget"] == 0).all() and isinstance(readings, pd.DataFrame)


GROUP = {"kind": "cross_encoder", "model": "reranker", "revision": "sha256:x", "precision": "fp32", "decoding": {}}
PASSAGES, SNIPPETS = [("who", "bees keep"), ("who", "eels swim")], [("who", "bees"), ("who", "eels")]


def scored(pairs, score):
    return {store.entry_key(GROUP, list(p)): score for p in pairs}


@pytest.fixture
def reranked(tmp_path, monkeypatch):
    """A recorded file of the reranker with a passage's, a snippet's and another purpose's score, and a model that gives 0.5; the caches are empty."""
    made = [store.Store(tmp_path / "recorded", tmp_path / "cache", ignore_recorded=skip) for skip in (True, False)]
    (tmp_path / "recorded").mkdir()
    old = scored(PASSAGES[:1], 0.1) | scored(SNIPPETS[:1], 0.2) | scored([("who", "another purpose")], 0.3)
    path = tmp_path / "recorded" / f"{group_name(GROUP)}.jsonl"
    write_recorded(path, GROUP, old)
    for module in (record_cross_encoder, record_rivals):
        monkeypatch.setattr(module, "cross_encoder_group", lambda spec: GROUP)
        monkeypatch.setattr(module, "pair_keys", lambda pairs, spec: list(scored(pairs, 0)))
        monkeypatch.setattr(module, "score_pairs", lambda pairs, spec, s: s.put_many(GROUP, {k: v for k, v in scored(pairs, 0.5).items() if s.get(k) is None}))
    return path, old, made


def test_recording_the_passages_alone_drops_no_score_of_another_purpose(reranked):
    path, old, (afresh, _) = reranked
    record_cross_encoder.record(PASSAGES, {"model": "reranker"}, afresh)
    assert read_recorded(path)[1] == old | scored(PASSAGES, 0.5)  # what is asked is made anew, the rest stays
    first = path.read_bytes()
    record_cross_encoder.record(PASSAGES[::-1], {"model": "reranker"}, afresh)
    assert path.read_bytes() == first


def test_recording_the_rivals_drops_no_score_either(reranked, monkeypatch):
    path, old, (_, both) = reranked
    monkeypatch.setattr(record_rivals, "pool", lambda: pd.DataFrame())
    monkeypatch.setattr(record_rivals, "snippet_pairs", lambda rows: SNIPPETS)
    monkeypatch.setattr(record_rivals.record_cross_encoder, "asked", lambda tier: PASSAGES)
    monkeypatch.setattr(record_rivals.tables, "read", lambda name, tier: pd.DataFrame())
    monkeypatch.setattr(record_rivals.rivals_surprise, "surprises", lambda *a: None)
    monkeypatch.setattr(record_rivals.rivals_surprise, "units", lambda *a: {})
    record_rivals.record(both)
    assert read_recorded(path)[1] == old | scored(PASSAGES[1:], 0.5) | scored(SNIPPETS[1:], 0.5)


def test_make_record_records_parses_and_rivals_too_and_says_which_model_is_not_here(monkeypatch, capsys):
    def untrained():
        raise cross_encoder.CrossEncoderError("cross-encoder 'reranker' is not trained here\nmore")

    monkeypatch.setattr(record, "record", lambda: print("answers"))
    monkeypatch.setattr(record.record_parses, "record", lambda: "parse-x.jsonl")
    monkeypatch.setattr(record.record_rivals, "record", untrained)
    assert record.main([]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "answers", "parses: parse-x.jsonl", "rivals' scores: what is recorded stays as it is (cross-encoder 'reranker' is not trained here)"]


def test_answers_to_what_gates_hand_on_come_from_the_store_and_ask_no_model(monkeypatch, tmp_path):
    from lib import downstream_reading, readers
    from lib.recorded import entry_key

    (tmp_path / "params.yaml").write_text("own: {gating: {gate: {replay: {reader: {model: smollm2-135m, precision: fp32}}}, downstream: {read: {}}}}\nbare: {}\n")
    monkeypatch.setattr(record_scores, "ROOT", tmp_path)
    questions = pd.DataFrame({"dataset": "ondrell", "qid": ["a"], "question": ["Who?"], "answers": [["Vane"]], "question_type": ["single"]})
    contexts = pd.DataFrame({"dataset": "ondrell", "qid": ["a"], "context_hash": ["x"], "context": ["Edda Vane built it."]})
    monkeypatch.setattr(record_scores.tables, "read", lambda name, tier: {"questions": questions, "gate_contexts": contexts}[name])
    kept = store.Store(tmp_path / "recorded", tmp_path / "store")
    monkeypatch.setattr(record_scores, "Store", lambda: kept)
    monkeypatch.setattr(record_scores.scores, "committed", record_scores.scores.nothing)
    assert record_scores.handed_answers("bare").empty
    with pytest.raises(readers.ReaderError):
        record_scores.handed_answers("own")
    group = readers.answer_group({"model": "smollm2-135m", "precision": "fp32"})
    prompt = downstream_reading.asked(contexts, questions)["prompt"].iloc[0]
    kept.put_many(group, {entry_key(group, prompt): {"raw_text": " Edda Vane\n", "n_prompt_tokens": 9, "n_new_tokens": 3}})
    found = record_scores.handed_answers("own").iloc[0]
    assert (found["f1"], found["em"], found["reader"]) == (pytest.approx(2 / 3), 0.0, "smollm2-135m")
