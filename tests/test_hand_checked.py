"""The contexts that were judged by reading: the file is whole, its contexts are those of today's corpus, and what is wrong is refused."""
import pandas as pd
import pytest

from lib import hand_checked, tables
from lib.hand_checked import COLUMNS, JUDGEMENTS, matched, read
from lib.tables import TableError


def written(tmp_path, *rows, columns=COLUMNS):
    path = tmp_path / "hand_checked.csv"
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


def test_the_committed_file_is_whole_and_covers_what_has_no_span():
    rows = read()
    assert 80 <= len(rows) <= 150 and set(rows["judgement"]) == set(JUDGEMENTS) and rows["reason"].str.len().between(5, 80).all()
    counts = rows[rows["selection"] == "drawn"]["judgement"].value_counts()
    assert counts.min() >= 15, "each judgement often enough for an error to show"


def test_every_free_form_and_paraphrased_question_of_the_corpus_was_judged():
    import json

    corpus = [json.loads(line) for line in (tables.ROOT / "data" / "sample" / "corpus" / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    wanted = {q["qid"] for q in corpus if q["question_type"] in ("free_form", "paraphrased")}
    assert wanted <= set(read()["qid"]) <= {q["qid"] for q in corpus}


def test_the_judged_contexts_are_those_that_the_sample_packs():
    if not tables.TABLES["contexts"].path("sample").exists():
        pytest.skip("the sample chain has not run yet")
    contexts, readings = tables.read_all("sample", "contexts", "readings")
    packed = readings[(readings["policy"] != "closed_book") & ~readings["pack_id"].str.contains(".ace", regex=False)]
    assert len(matched(read(), packed)) == len(read())
    assert set(read()["context_hash"]) <= set(contexts["context_hash"])


@pytest.mark.parametrize("row, message", [
    (("q", "naive", "h", "maybe", "drawn", "why"), "question q, policy naive: judgement 'maybe' is none of supported, partly, not supported"),
    (("q", "naive", "h", "partly", "found", "why"), "selection 'found' is none of drawn, by score"),
    (("q", "naive", "h", "partly", "drawn", ""), "a value is missing")])
def test_an_unknown_judgement_or_a_missing_reason_is_refused(tmp_path, row, message):
    with pytest.raises(TableError, match=message):
        read(written(tmp_path, row))


def test_a_context_judged_twice_and_another_column_are_refused(tmp_path):
    row = ("q", "naive", "h", "partly", "drawn", "why")
    with pytest.raises(TableError, match="question q, policy mmr: this context is judged twice"):
        read(written(tmp_path, row, ("q", "mmr", "h", "supported", "drawn", "why")))
    with pytest.raises(TableError, match="has the columns"):
        read(written(tmp_path, row[:5], columns=COLUMNS[:5]))


def test_matching_keeps_what_was_read_and_refuses_what_has_changed(tmp_path):
    checked = read(written(tmp_path, ("q", "naive", "h", "partly", "drawn", "why"), ("r", "naive", "h", "supported", "drawn", "why")))
    packed = pd.DataFrame({"qid": ["q", "q"], "policy": ["naive", "mmr"], "context_hash": ["h", "k"]})
    assert matched(checked, packed)[["qid", "policy", "judgement"]].values.tolist() == [["q", "naive", "partly"]]
    with pytest.raises(ValueError, match="1 of 1 hand-checked contexts have changed .* its context is now k, judged was h"):
        matched(checked, packed.assign(context_hash="k"))
    assert len(matched(checked, packed.iloc[:0])) == 0 and hand_checked.FILE.is_file()
