"""The study of the labels on the policy corpus, and its figure: tables as declared, the known truths, a title that says what the table says."""

import numpy as np
import pandas as pd
import pytest

from lib import figures_judgements as figures
from lib import judgements_pooling as pooling
from lib import judgements_records as form
from lib import judgements_study, policy_corpus
from lib.charts import NothingToDraw
from lib.declarations_judgements import JUDGEMENTS
from lib.judgements_hidden import hidden_rows, hidden_table
from tests.judged_world import KEY, checked, world

# ---- the figure


def figure_of(seed=0, sets=("w",)):
    rankings, judged = world(seed, 12, judged=1.0)
    member = judged[KEY].drop_duplicates().assign(slice=["one", "two"] * 6)
    hidden = hidden_table([hidden_rows(rankings, judged, "old", 3, 4, 10)], "t", member, 50)
    turned = pooling.reversals(pooling.both_audits(rankings, judged, "old", [3], 4, 10), "new", "old", "t", 50)
    return [pd.concat([table.assign(dataset=name) for name in sets], ignore_index=True) for table in (hidden, turned)]


def test_the_figure_says_what_its_table_says():
    hidden, turned = figure_of()
    spec = figures.hidden_scores(hidden, turned, ("new", "old")).to_dict()
    rows = next(v for v in spec["datasets"].values() if len(v) == 6)
    assert {r["name"] for r in rows} == {"one", "two", "all questions"} and rows[-1]["name"] == "all questions"
    title = " ".join(spec["title"]["text"])
    width = max(r["ndcg_high"] - r["ndcg_low"] for r in rows if r["slice"] == "all")
    assert f"up to {100 * width:.0f} points" in title
    for values, said in (
        ((0.1, 0.2, 0.1, 0.2), "and on all judgements new beats old"),
        ((-0.2, -0.1, 0.1, 0.2), "new loses to old; on all judgements new beats old"),
        ((-0.1, 0.1, -0.2, 0.2), "cannot be told apart"),
    ):
        told = turned.assign(measured_low=values[0], measured_high=values[1], truth_low=values[2], truth_high=values[3])
        assert said in " ".join(figures.hidden_scores(hidden, told, ("new", "old")).to_dict()["title"]["text"])
    several = " ".join(figures.hidden_scores(*figure_of(sets=("v", "w", "x")), ("new", "old")).to_dict()["title"]["text"])
    assert "right on all 3 data sets" in several or "of 3 data sets" in several
    mixed = [t.copy() for t in figure_of(sets=("v", "w", "x"))]
    mixed[1].loc[mixed[1]["dataset"] == "v", ["measured_low", "measured_high", "truth_low", "truth_high"]] = (-0.2, -0.1, 0.1, 0.2)
    mixed[1].loc[mixed[1]["dataset"] != "v", ["measured_low", "measured_high", "truth_low", "truth_high"]] = (0.1, 0.2, 0.1, 0.2)
    assert "misjudges new against old on 1 of 3 data sets" in " ".join(figures.hidden_scores(*mixed, ("new", "old")).to_dict()["title"]["text"])
    with pytest.raises(NothingToDraw):
        figures.hidden_scores(hidden.iloc[:0], turned, ("new", "old"))
    with pytest.raises(NothingToDraw, match="set-ups"):
        figures.hidden_scores(pd.concat([hidden, hidden.assign(judged_depth=9)]), turned, ("new", "old"))


@pytest.mark.parametrize(("queries", "gold"), [(8, False), (1, False), (1, True)])
def test_hiding_without_gold_or_with_one_question_gives_declared_tables(queries, gold):
    rankings, judged = world(0, queries, judged=1.0)
    read = judgements_study.Read(ranker="old", depth=3, cutoff=4, pool=10)
    made = judgements_study.hiding(rankings, judged if gold else judged.head(0), "t", read, "new", (3,), resamples=50)
    for name, table in made.items():
        assert bool(len(checked(table, name))) == (gold and name != "judgement_audit")  # fewer unjudged passages than a sample takes
    full = judgements_study.hiding(*world(0, 8, judged=1.0), "t", read, "new", (3,), resamples=50)
    for name, table in full.items():
        assert (pd.concat([table, made[name]]).dtypes == table.dtypes).all()  # a table without a row changes no type
    assert set(made) == {"judgement_unjudged", "judgement_pooling", "judgement_reversals", "judgement_audit"}


# ---- the policy corpus


class Words:
    """A fake encoder: a text's vector counts its words by their letters."""

    name = "words"

    def encode(self, texts):
        rows = np.zeros((len(texts), 64), np.float32)
        for row, said in zip(rows, texts):
            for word in said.lower().split():
                row[sum(map(ord, word)) % 64] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@pytest.fixture(scope="module")
def policy():
    corpus = policy_corpus.read()
    return corpus, judgements_study.study(corpus, Words(), "t", draws=1, resamples=50, cache=None)


def test_the_policy_corpus_makes_sound_records_and_every_table(policy, tmp_path):
    corpus, made = policy
    assert form.read(form.write(tmp_path / "r.jsonl", made.records)) == made.records
    assert sum(len(r.candidates) for r in made.records) == len(corpus.judgements)
    assert set(made.tables) == set(JUDGEMENTS)
    for name, rows in made.tables.items():
        assert len(checked(rows, name)), name
    recorded = made.tables["judgements"].query("assessor == 'authors'")
    assert set(recorded["doc_id"]) <= set(corpus.sections["passage"])  # a section is called alike everywhere
    assert recorded["grade"].isna().equals(recorded["label"] == "uncertain")


def test_the_policy_corpus_shows_the_bias_and_the_leak(policy):
    _, made = policy
    bias = made.tables["judgement_pooling"].set_index(["first_stage", "measure", "judged_depth"]).sort_index()
    assert (bias.loc[("bm25", "candidate_recall"), "measured"] == 1).all() and (bias.loc[("bm25", "candidate_recall"), "truth"] < 1).all()
    parted = made.tables["judgement_splits"].set_index(["split", "kind"])
    assert parted.loc[("random", "family"), "touched"] > 0 and parted.loc["version family", "leaks"].eq(0).all()
    hidden = made.tables["judgement_unjudged"].pivot(index=["slice", "ranker", "judged_by"], columns="measure", values="estimate")
    assert (hidden["ndcg_low"] <= hidden["ndcg_high"]).all()
