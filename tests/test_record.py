"""The recorded layer: exactly the answers that today's prompts ask for, and a live run that says how far it agrees."""
import pandas as pd
import pytest

from lib import reading, record, store, tables
from lib.reader_spec import Generation


class Echo:
    """A reader that answers with the last word of the question."""

    def generate(self, prompts):
        return [Generation(" " + p.split("Question: ")[-1].split("?")[0].split()[-1], 5, 1) for p in prompts]


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Two prompts, one reader, and both layers in a temporary folder."""
    made = store.Store(recorded=tmp_path / "recorded", cache=tmp_path / "cache")
    monkeypatch.setattr(record, "Store", lambda ignore_recorded=False: made)
    monkeypatch.setattr(record, "asked", lambda tier="sample": (["Question: where is Ysha?\nAnswer:", "Question: who is Edda?\nAnswer:"], [{"model": "smollm2-135m"}]))
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(record, "read_prompts", lambda prompts, spec, s: reading.readers.read_prompts(prompts, spec, s, reader=Echo(), progress=False))
    return tmp_path


def test_record_writes_one_row_a_prompt_and_the_same_bytes_twice(world, capsys):
    record.record()
    (path,) = (world / "recorded").glob("*.jsonl")
    first = path.read_bytes()
    record.record()
    assert path.read_bytes() == first and "2 answers" in capsys.readouterr().out


def test_the_sample_reads_what_params_say():
    if not tables.TABLES["contexts"].path("sample").exists():
        pytest.skip("the sample chain has not run yet")
    prompts, specs = record.asked()
    contexts = tables.read("contexts", "sample")
    assert len(prompts) == len(set(prompts)) and [s["model"] for s in specs] == ["qwen2.5-coder-0.5b", "smollm2-135m"]
    assert len(prompts) <= contexts["qid"].nunique() * 7 and all(isinstance(p, str) for p in prompts)


def test_readings_cover_every_policy_and_closed_book():
    if not tables.TABLES["readings"].path("sample").exists():
        pytest.skip("the sample chain has not run yet")
    readings = tables.read("readings", "sample")
    counts = readings.groupby("policy")["qid"].nunique()
    assert "closed_book" in counts.index and counts.nunique() == 1
    assert (readings[readings["policy"] == "closed_book"]["budget"] == 0).all() and isinstance(readings, pd.DataFrame)
