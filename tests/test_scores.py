"""Committed scores: a known score runs no model, a cut file is an error, and what is exported comes back."""
import pandas as pd
import pytest

from lib import scores, tables

ROWS = pd.DataFrame({"dataset": ["hotpotqa", "musique"], "qid": ["a", "b"], "prompt_hash": ["x", "y"], "reader": "r", "precision": "fp32", "em": [1.0, 0.0],
                     "f1": [1.0, 1 / 3], "em_raw": [0.0, 0.0], "f1_raw": [0.5, 0.1], "n_prompt_tokens": [10, 11], "n_new_tokens": [2, 3]})


def test_what_is_exported_comes_back_and_twice_gives_the_same_bytes(tmp_path):
    (path,) = scores.export(ROWS, "real", tmp_path)
    first = path.read_bytes()
    scores.export(ROWS.iloc[::-1], "real", tmp_path)
    assert path.read_bytes() == first
    known = scores.committed(tmp_path)
    found = scores.rows_for(["musique", "hotpotqa", "hotpotqa"], ["b", "a", "a"], ["y", "x", "other"], known)
    assert found["f1"].round(6).tolist()[:2] == [0.333333, 1.0] and found["f1"].isna().tolist() == [False, False, True]


def test_no_text_is_exported(tmp_path):
    (path,) = scores.export(ROWS.assign(prediction="secret", raw_text="secret"), "real", tmp_path)
    assert "secret" not in path.read_text()


def test_a_file_cut_short_is_one_error_that_names_it(tmp_path):
    (path,) = scores.export(ROWS, "real", tmp_path)
    path.write_text(path.read_text()[:-12])
    with pytest.raises(tables.TableError, match="real-r-fp32.csv.*cut short"):
        scores.committed(tmp_path)


def test_a_key_that_stands_twice_is_an_error(tmp_path):
    scores.export(ROWS, "real", tmp_path)
    scores.export(ROWS, "again", tmp_path)
    with pytest.raises(tables.TableError, match="stands twice"):
        scores.committed(tmp_path)


def test_a_known_score_runs_no_model(tmp_path):
    from lib import reading, store
    from lib.reader_spec import answer_group
    from lib.recorded import entry_key

    spec = {"model": "smollm2-135m", "precision": "fp32", "backend": "replay"}
    asked = pd.DataFrame({"dataset": ["hotpotqa"], "qid": ["a"], "context_hash": ["c"], "prompt": ["Question: who?\nAnswer:"], "answers": [["Edda"]]})
    hashed = ROWS.iloc[:1].assign(prompt_hash=entry_key(answer_group(spec), asked["prompt"].iloc[0]))
    scores.export(hashed, "real", tmp_path)
    empty = store.Store(recorded=tmp_path / "none", cache=tmp_path / "cache")
    row = reading.read_all(asked, [spec], empty, known=scores.committed(tmp_path)).iloc[0]
    assert row["f1"] == 1.0 and pd.isna(row["prediction"]) and row["n_prompt_tokens"] == 10
    with pytest.raises(Exception, match="recorded|replay|stored"):
        reading.read_all(asked, [spec], empty)


def test_counts_that_an_endpoint_did_not_tell_stay_missing(tmp_path):
    told = ROWS.iloc[:1].assign(reader="other", qid="c", n_prompt_tokens=10.0)
    scores.export(pd.concat([ROWS.assign(n_prompt_tokens=[10, None], n_new_tokens=[None, None]), told]), "real", tmp_path)
    known = scores.committed(tmp_path).sort_index()
    assert known["n_prompt_tokens"].fillna(-1).tolist() == [10, 10, -1] and known["n_new_tokens"].fillna(-1).tolist() == [-1, 2, -1]
    assert "10.0" not in (tmp_path / "real-r-fp32.csv").read_text(), "a count is a whole number"


def test_a_file_cut_at_any_byte_within_a_line_is_one_error(tmp_path):
    (path,) = scores.export(ROWS, "real", tmp_path)
    whole = path.read_text()
    for size in (size for size in range(len(whole)) if size == 0 or whole[size - 1] != "\n"):
        path.write_text(whole[:size])
        with pytest.raises(tables.TableError, match="real-r-fp32.csv.*cut short"):
            scores.committed(tmp_path)


SUPPORT = pd.DataFrame({"dataset": "hotpotqa", "qid": ["a", "b", "c"], "support_hash": ["x", "y", "z"], "scorer": "smollm2-135m fp32 log-probability", "score": [1 / 3, -2.5, None]})


def test_support_scores_come_back_by_hash_and_the_missing_are_no_rows(tmp_path):
    (path,) = scores.export_support(SUPPORT, "real", tmp_path)
    first = path.read_bytes()
    scores.export_support(SUPPORT.iloc[::-1], "real", tmp_path)
    assert path.read_bytes() == first and path.name == "real-smollm2-135m-fp32-log-probability.csv" and len(first.splitlines()) == 3
    found = scores.support_for(["hotpotqa"] * 3, ["b", "a", "a"], ["y", "x", "y"], scores.committed_support(tmp_path))
    assert found[:2].tolist() == [-2.5, 0.333333] and pd.isna(found[2])
    assert pd.isna(scores.support_for(["hotpotqa"], ["a"], ["x"], scores.no_support())).all() and len(scores.committed_support(tmp_path / "none")) == 0


def test_a_support_file_that_is_cut_or_repeats_is_one_error(tmp_path):
    (path,) = scores.export_support(SUPPORT, "real", tmp_path)
    whole = path.read_text()
    for size in (size for size in range(len(whole)) if size == 0 or whole[size - 1] != "\n"):
        path.write_text(whole[:size])
        with pytest.raises(tables.TableError, match="log-probability.csv.*cut short"):
            scores.committed_support(tmp_path)
    path.write_text(whole)
    scores.export_support(SUPPORT, "again", tmp_path)
    with pytest.raises(tables.TableError, match="stands twice"):
        scores.committed_support(tmp_path)


def test_scores_of_contexts_lie_apart_from_scores_of_answers(tmp_path):
    scores.export(ROWS, "real", tmp_path)
    scores.export_support(SUPPORT, "real", tmp_path / "support")
    assert len(scores.committed(tmp_path)) == 2 and len(scores.committed_support(tmp_path / "support")) == 2
