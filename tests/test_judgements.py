"""Judgements: records, what the unjudged hide, agreement, splits; golden values, brute force, peers and planted faults (document 001)."""

import itertools
import json
import math

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given as over
from hypothesis import settings
from hypothesis import strategies as st
from ir_measures import Judged, R, nDCG
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

from lib import judgements as study
from lib import judgements_agreement as agree
from lib import judgements_assessors as assessors
from lib import judgements_effect as effect
from lib import judgements_pooling as pooling
from lib import judgements_records as form
from lib import judgements_splits as splits
from lib import judgements_unjudged as unjudged
from lib.grades import ndcg_at, recall_at
from lib.judgements_hidden import hidden_rows, hidden_table
from lib.judgements_records import Candidate, Judgement
from lib.records import DataError
from lib.viability_inputs import QID, read_judgements, read_texts
from tests.judged_world import KEY, checked, world


def candidate(doc="rule-v2", section="s1", span=(0, 1), label="bundle", grade=3, role="policy", bundles=("A",), assessor="ann", date="2026-03-01", note=None):
    return Candidate(doc, section, span, label, grade, role, bundles, assessor, date, note)


def record(qid="q1", *candidates, **changed):
    made = Judgement(
        qid,
        "May contractors park free?",
        "Contractors pay.",
        {"policy": 1, "exception": 1},
        ("policy",),
        "2026-03-01",
        ("superseded",),
        ("exclusion",),
        candidates or (candidate(),),
    )
    return made._replace(**changed)


# ---- records


def test_a_record_reads_back_as_it_was_written(tmp_path):
    made = [record("q2", candidate(), candidate("faq", None, None, "uncertain", None, None, (), note="é — as typed")), record("q1")]
    path = form.write(tmp_path / "records.jsonl", made)
    assert form.read(path) == sorted(made, key=lambda one: one.qid)
    assert form.write(tmp_path / "again.jsonl", form.read(path)).read_bytes() == path.read_bytes()
    first = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert first["schema"] == form.SCHEMA and {"operative_claim", "roles", "acceptable_sources", "effective_on", "disqualifying"} <= set(first)


FAULTS = [
    (lambda r: r.update(schema="judgement-record/9"), "schema"),
    (lambda r: r.update(operative_clam="x"), "operative_clam"),
    (lambda r: r.pop("roles"), "roles"),
    (lambda r: r.update(roles={"policy": 0}), "roles"),
    (lambda r: r.update(operative_claim=" "), "operative_claim"),
    (lambda r: r.update(effective_on="March"), "effective_on"),
    (lambda r: r.update(acceptable_sources="policy"), "acceptable_sources"),
    (lambda r: r["candidates"][0].update(label="relevant"), "supportive"),
    (lambda r: r["candidates"][0].update(label="uncertain"), "never 0"),
    (lambda r: r["candidates"][0].update(grade=None), "grade"),
    (lambda r: r["candidates"][0].update(grade=4), "0 to 3"),
    (lambda r: r["candidates"][0].update(label="contradictory", grade=2), "contradictory"),
    (lambda r: r["candidates"][0].update(bundles=[]), "bundle"),
    (lambda r: r["candidates"][0].update(role="minutes"), "minutes"),
    (lambda r: r["candidates"][0].update(span=[2, 1]), "span"),
    (lambda r: r["candidates"][0].update(date=None), "date"),
    (lambda r: r["candidates"][0].update(colour="red"), "colour"),
    (lambda r: r["candidates"].append(dict(r["candidates"][0])), "twice"),
    (lambda r: r.update(candidates={}), "candidates"),
]


@pytest.mark.parametrize("spoil, named", FAULTS, ids=[named for _, named in FAULTS])
def test_every_fault_of_a_record_is_one_error_that_names_file_line_and_field(tmp_path, spoil, named):
    one = json.loads(json.dumps(form.as_json(record())))
    spoil(one)
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(form.as_json(record("q0"))) + "\n" + json.dumps(one) + "\n")
    with pytest.raises(DataError, match=r"r\.jsonl, line 2") as error:
        form.read(path)
    assert named in str(error.value)


def test_a_question_in_two_records_is_an_error_and_the_writer_refuses_what_the_reader_would(tmp_path):
    line = json.dumps(form.as_json(record()))
    (tmp_path / "r.jsonl").write_text(f"{line}\n{line}\n")
    with pytest.raises(DataError, match="records 1 and 2"):
        form.read(tmp_path / "r.jsonl")
    with pytest.raises(DataError, match="role"):
        form.write(tmp_path / "w.jsonl", [record("q", candidate(role="minutes"))])
    assert not (tmp_path / "w.jsonl").exists()


def test_a_passage_of_several_spans_is_as_good_as_its_best_and_doubt_outlasts_no_evidence():
    strong, weak, doubt = (
        candidate(span=(0, 0)),
        candidate(span=(4, 4), label="topical", grade=1, role=None, bundles=("B",)),
        candidate(span=(2, 2), label="uncertain", grade=None, role=None, bundles=()),
    )
    for order in itertools.permutations([strong, weak, doubt]):
        row = study.table([record("q", *order)], "d").iloc[0]
        assert (row["label"], row["grade"], row["role"], row["bundles"]) == ("bundle", 3, "policy", ["A"]) and len(row["spans"]) == 3
    row = study.table([record("q", weak, doubt)], "d").iloc[0]
    assert row["label"] == "uncertain" and pd.isna(row["grade"])
    checked(study.table([record("q", strong, weak, doubt)], "d"), "judgements")


def test_what_is_exported_is_what_the_audit_reads(tmp_path, capsys):
    made = [
        record(
            "q1",
            candidate(bundles=("A", "B")),
            candidate("old", label="contradictory", grade=0, role=None, bundles=()),
            candidate("near", label="topical", grade=1, role=None, bundles=()),
            candidate("odd", label="uncertain", grade=None, role=None, bundles=()),
        )
    ]
    form.write(tmp_path / "r.jsonl", made)
    assert study.main([str(tmp_path / "r.jsonl"), "--out", str(tmp_path / "out")]) == 0
    read = read_judgements(tmp_path / "out" / "judgements.csv")
    grades = read.drop_duplicates("doc_id").set_index("doc_id")["grade"]
    assert grades.drop("odd#s1").to_dict() == {"rule-v2#s1": 3, "old#s1": 0, "near#s1": 0} and pd.isna(grades["odd#s1"])  # topical is no evidence
    assert sorted(read.loc[read["doc_id"] == "rule-v2#s1", "bundle"]) == ["A", "B"]
    assert form.read(tmp_path / "out" / "records.jsonl") == made  # what qrels cannot say stands beside them
    lines = (tmp_path / "out" / "judgements.qrels").read_text().splitlines()
    assert lines == ["q1 0 near#s1 0", "q1 0 old#s1 0", "q1 0 rule-v2#s1 3"]  # uncertain left out, never 0
    told = read_judgements(tmp_path / "out" / "judgements.qrels").set_index("doc_id")["grade"]
    assert told.to_dict() == grades.dropna().to_dict()  # both files say the same to the audit
    assert form.read(tmp_path / "out" / "records.jsonl")[0].candidates[2].grade == 1  # and the record keeps its grade
    assert read_texts(tmp_path / "out" / "records.jsonl", QID, "qid")["text"].tolist() == ["May contractors park free?"]  # it serves as --queries
    assert "uncertain" in capsys.readouterr().out


def test_records_without_slices_leave_no_slices_file(tmp_path):
    assert "slices.csv" in {p.name for p in study.export([record("q1")], tmp_path)}
    assert "slices.csv" not in {p.name for p in study.export([record("q1", slices=())], tmp_path)}
    assert not (tmp_path / "slices.csv").exists()  # an earlier export's slices are not these records'


@pytest.mark.parametrize("spoil", ["indented", "two on a line"])
def test_what_is_not_one_line_a_record_is_told_so(tmp_path, spoil):
    made = [json.dumps(form.as_json(record(q))) for q in ("q1", "q2")]
    text = json.dumps(json.loads(made[0]), indent=1) if spoil == "indented" else " ".join(made)
    (tmp_path / "r.jsonl").write_text(text)
    with pytest.raises(DataError, match=r"r\.jsonl, line 1: .*one line a record"):
        form.read(tmp_path / "r.jsonl")


def test_the_help_says_which_file_is_for_whom(capsys):
    with pytest.raises(SystemExit):
        study.main(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "--qrels judgements.csv" in said and "--queries records.jsonl" in said and "doc#section" in said and "one line a record" in said


def test_several_assessors_have_to_be_chosen_from(tmp_path, capsys):
    made = [record("q1", candidate(), candidate(assessor="bob", label="supportive", grade=1))]
    judged = study.table(made, "d")
    with pytest.raises(ValueError, match="ann, bob"):
        study.for_audit(judged)
    assert study.for_audit(judged, "bob")["grade"].tolist() == [1.0]
    with pytest.raises(ValueError, match="carl"):
        study.for_audit(judged, "carl")
    form.write(tmp_path / "r.jsonl", made)
    assert study.main([str(tmp_path / "r.jsonl"), "--out", str(tmp_path)]) == 2 and "ann, bob" in capsys.readouterr().err
    with pytest.raises(ValueError, match="white space"):
        study.qrels(study.table([record("q 1")], "d"))


def test_a_record_to_read_is_the_record():
    made = record("q", candidate(), candidate("b"), candidate("c"))
    text = study.shown(made, 3).removeprefix("```json").removesuffix("```")
    assert json.loads(text) == json.loads(json.dumps(form.as_json(made))) and "... 2 more" in study.shown(made, 1)


def test_a_record_to_read_shows_its_evidence_first():
    weak = [candidate(doc, label="contradictory", grade=0, role=None, bundles=()) for doc in "abc"]
    made = record("q", *weak, candidate("rule"), candidate("alone", label="supportive", bundles=()))
    first = json.loads(study.shown(made, 5).removeprefix("```json").removesuffix("```"))["candidates"]
    assert [c["doc_id"] for c in first] == ["rule", "alone", "a", "b", "c"]
    assert "alone" in study.shown(made, 2) and '"doc_id": "a"' not in study.shown(made, 2)


# ---- unjudged


@settings(max_examples=60, deadline=None)
@over(
    st.lists(st.sampled_from([None, None, 0, 1, 2]), min_size=1, max_size=5),
    st.lists(st.sampled_from([0, 1, 2]), max_size=2),
    st.integers(1, 4),
    st.integers(0, 2),
    st.sampled_from(["exponential", "linear"]),
)
def test_bounds_equal_brute_force_over_every_grade_the_unjudged_could_get(grades, more, k, elsewhere, gain):
    judged, top = [g for g in grades if g is not None] + more, grades[:k]
    free, ndcgs, recalls = [at for at, g in enumerate(top) if g is None], [], []
    for filled in itertools.product(range(3), repeat=len(free) + elsewhere):
        full, every = list(top), [*judged, *filled]
        for at, g in zip(free, filled):
            full[at] = g
        ndcgs.append(ndcg_at(full, every, k, gain))
        recalls.append(recall_at(full, sum(g > 0 for g in every), k))
    found = unjudged.hidden(grades, judged, k, elsewhere, 2, gain)
    for values, low, high in ((ndcgs, found.ndcg_low, found.ndcg_high), (recalls, found.recall_low, found.recall_high)):
        known = [v for v in values if not math.isnan(v)]
        if known:
            assert (low, high) == (pytest.approx(min(known), abs=1e-12), pytest.approx(max(known), abs=1e-12))
        else:
            assert math.isnan(low) and math.isnan(high)


def test_finding_a_relevant_passage_low_in_the_list_can_lower_ndcg():
    nothing = unjudged.hidden([1, 0, 0, 0, None], [1, 0, 0, 0], 5, highest=1)
    assert nothing.ndcg_as_zero == nothing.ndcg_high == 1 and nothing.ndcg_low < 0.86  # the best is not "relevant", the worst not "irrelevant"


def test_the_metric_case_and_limits():
    found = unjudged.hidden([None, 1], [1], 2, highest=1)
    assert (found.judged, round(found.ndcg_as_zero, 4), found.ndcg_condensed) == (0.5, 0.6309, 1.0)
    judged = unjudged.hidden([0, 2], [0, 2, 1], 2)
    assert judged.ndcg_low == judged.ndcg_high == judged.ndcg_as_zero == judged.ndcg_condensed  # nothing unjudged: nothing hidden
    with pytest.raises(ValueError, match="lower k"):
        unjudged.ndcg_bounds([None] * 13, [1], 13, 0)


def test_ir_measures_agrees_on_judged_condensed_and_zero():
    rankings, judged = world()
    rows = unjudged.unjudged_rows(rankings, judged, 5, 10, form="linear")
    qrels = {q: {d: int(g) for d, g in zip(p["doc_id"], p["grade"])} for q, p in judged.groupby("qid")}
    theirs_of = {
        "judged": Judged @ 5,
        "ndcg_as_zero": nDCG @ 5,
        "ndcg_condensed": nDCG(judged_only=True) @ 5,
        "recall_as_zero": R @ 5,
        "recall_condensed": R(judged_only=True) @ 5,
    }
    for ranker, part in rankings.groupby("ranker"):
        run = {q: dict(zip(p["doc_id"], p["score"])) for q, p in part.groupby("qid")}
        ours = rows[rows["ranker"] == ranker].set_index("qid")
        for column, measure in theirs_of.items():
            theirs = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
            known = ours[column].dropna()
            assert len(known) > 20 and max(abs(theirs[q] - v) for q, v in known.items()) < 1e-9, column
    shuffled = unjudged.unjudged_rows(rankings.sample(frac=1, random_state=1), judged.sample(frac=1, random_state=2), 5, 10, form="linear")
    pd.testing.assert_frame_equal(rows, shuffled)


def test_the_score_on_all_judgements_lies_within_the_bounds_that_part_of_them_leaves():
    rankings, judged = world(3, judged=1.0, docs=10)  # lists hold every passage: nothing lies outside
    rows = hidden_rows(rankings, judged, "old", 3, 4, 10)
    assert (rows["outside"] == 0).all() and len(rows) == 2 * judged.loc[judged["grade"] > 0, "qid"].nunique()
    for name in ("ndcg", "recall"):
        assert (rows[f"{name}_low"] <= rows[f"{name}_full"] + 1e-12).all() and (rows[f"{name}_full"] <= rows[f"{name}_high"] + 1e-12).all()
    assert (rows["ndcg_high"] - rows["ndcg_low"]).mean() > 0.1
    all_judged = hidden_rows(rankings, judged, cutoff=4, depth=10)
    assert np.allclose(all_judged["ndcg_low"], all_judged["ndcg_high"]) and np.allclose(all_judged["ndcg_full"], all_judged["ndcg_low"])
    table = checked(
        hidden_table([rows, all_judged], "t", pd.DataFrame([("w", "1", "a"), ("w", "2", "a")], columns=[*KEY, "slice"]), 50), "judgement_unjudged"
    )
    assert set(table["slice"]) == {"all", "a"} and (table.loc[table["slice"] == "a", "n"] <= 2).all()


def test_the_old_system_looks_complete_to_whoever_read_only_its_top():
    rankings, judged = world(5, 40, judged=1.0)
    both = pooling.both_audits(rankings, judged, "old", [2, 5], 3, 10)
    found = checked(pooling.bias(both, "t", 200), "judgement_pooling").set_index(["judged_depth", "first_stage", "measure"])
    for depth in (2, 5):
        old = found.loc[(depth, "old", "candidate_recall")]
        assert old["measured"] == 1 and old["truth"] < 1 and old["delta"] == pytest.approx(1 - old["truth"])  # by construction, whatever it missed
    everything = pooling.both_audits(rankings, judged.merge(rankings[[*KEY, "doc_id"]].drop_duplicates(), on=[*KEY, "doc_id"]), "old", [10], 3, 10)
    seen = everything[(everything["ranker"] == "old")]
    assert seen["measured"].notna().any()
    turned = checked(pooling.reversals(both, "new", "old", "t", 200), "judgement_reversals")
    assert (turned["measured"][turned["measure"] == "candidate_recall"] <= 0).all()  # nothing can beat a list that holds all that is known
    with pytest.raises(ValueError, match="ranker"):
        pooling.judged_within(judged, rankings, "nobody", 3)


def test_reading_the_whole_of_a_list_that_holds_everything_hides_nothing():
    rankings, judged = world(6, 12, judged=1.0, docs=10)
    both = pooling.both_audits(rankings, judged, "old", [10], 3, 10)
    assert np.allclose(both["measured"], both["truth"])


# ---- agreement


def test_golden_values_of_agreement():
    ben, gerry = list("aabbdcccedda"), list("babbbcccddddd"[:8]) + list("eddd")
    found = agree.agreement(agree.pairs(ben, gerry, "abcde"))
    assert round(found.alpha, 3) == 0.692  # Krippendorff (2011), nominal data, two observers
    binary = agree.agreement(agree.pairs([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0], [0, 1]))
    assert round(binary.alpha, 3) == 0.095  # the same, binary data
    assert round(agree.agreement([[20, 5], [10, 15]]).kappa, 4) == 0.4  # Cohen's kappa, the usual worked example
    with pytest.raises(ValueError, match="none of"):
        agree.pairs(["a"], ["z"], ["a"])


def test_peers_agree_on_kappa_and_alpha_on_random_labels():
    rng = np.random.default_rng(1)
    for _ in range(20):
        one = rng.choice(form.LABELS, 60)
        other = np.where(rng.random(60) < 0.6, one, rng.choice(form.LABELS, 60))
        table = agree.pairs(one, other)
        found = agree.agreement(table)
        assert found.kappa == pytest.approx(cohen_kappa_score(one, other), abs=1e-12)
        ratings = np.array([[(a == label) + (b == label) for label in form.LABELS] for a, b in zip(one, other)])
        scott = fleiss_kappa(ratings, method="fleiss")  # for two raters Scott's pi; alpha corrects it for the finite sample
        assert found.alpha == pytest.approx(scott + (1 - scott) / 120, abs=1e-12)
        assert agree.agreement(table.T) == pytest.approx(found, abs=1e-12)
    assert math.isnan(agree.agreement([[5, 0], [0, 0]]).kappa) and agree.agreement([[5, 0], [0, 5]]) == (1, 1, 1)


def test_expected_agreement_equals_enumeration_of_every_outcome():
    truth, first, second = ["supportive", "topical", "contradictory"], np.array(assessors.CAREFUL), np.array(assessors.HASTY)
    place = {label: at for at, label in enumerate(form.LABELS)}
    table, percent, wrong = np.zeros((5, 5)), 0.0, 0.0
    for one in itertools.product(range(5), repeat=3):
        chance_one = math.prod(first[place[t], a] for t, a in zip(truth, one))
        for other in itertools.product(range(5), repeat=3):
            chance = chance_one * math.prod(second[place[t], b] for t, b in zip(truth, other))
            if chance:
                percent += chance * np.mean([a == b for a, b in zip(one, other)])
                wrong += chance * np.mean([a == b != place[t] for t, a, b in zip(truth, one, other)])
                np.add.at(table, (list(one), list(other)), chance / 3)
    shares = np.array([truth.count(label) for label in form.LABELS]) / 3
    expected = agree.expected_pairs(shares, first, second)
    assert np.allclose(expected, table, atol=1e-12) and agree.agreement(expected).percent == pytest.approx(percent, abs=1e-12)
    assert agree.expected_wrong(shares, first, second) == pytest.approx(wrong, abs=1e-12)


def many(n=20_000, labels=form.LABELS):
    return pd.DataFrame(
        {
            "dataset": "d",
            "qid": [f"q{i // 10}" for i in range(n)],
            "doc_id": [f"p{i}" for i in range(n)],
            "label": [labels[i % len(labels)] for i in range(n)],
        }
    )


def test_simulated_assessors_agree_as_their_confusion_says():
    judged = many()
    one, other = (assessors.given(judged, matrix, name, 3) for name, matrix in assessors.ASSESSORS.items())
    found = agree.agreement(agree.pairs(one, other))
    expected = agree.agreement(agree.expected_pairs([0.2] * 5, assessors.CAREFUL, assessors.HASTY), len(judged))
    assert np.abs(np.array(found) - expected).max() < 4 * 0.5 / math.sqrt(len(judged)) * 1.3  # four standard errors of a share, scaled for kappa
    given_shares = pd.crosstab(judged["label"], one, normalize="index").reindex(index=form.LABELS, columns=form.LABELS).fillna(0)
    assert np.abs(given_shares.to_numpy() - np.array(assessors.CAREFUL)).max() < 4 * 0.5 / math.sqrt(len(judged) / 5)


def test_a_draw_depends_on_nothing_but_seed_assessor_and_passage():
    judged = many(300)
    whole = assessors.given(judged, assessors.HASTY, "hasty", 1)
    part = judged.sample(100, random_state=1)
    assert (assessors.given(part, assessors.HASTY, "hasty", 1) == whole[part.index]).all()
    assert (assessors.given(judged, assessors.HASTY, "other", 1) != whole).any() and (assessors.given(judged, assessors.HASTY, "hasty", 2) != whole).any()
    exact = assessors.given(judged, np.eye(5), "perfect")
    assert (exact == judged["label"]).all()


@pytest.mark.parametrize(
    "spoil", [lambda m: m[:4], lambda m: np.vstack([m[:4], [0.5, 0.2, 0.2, 0, 0]]), lambda m: m - np.eye(5) * 2], ids=["rows", "sum", "negative"]
)
def test_a_confusion_matrix_that_is_none_is_refused(spoil):
    with pytest.raises(ValueError, match="hasty"):
        assessors.confusion(spoil(np.array(assessors.HASTY)), "hasty")


def recorded(queries=12):
    rows = []
    for q in range(queries):
        rows += [
            ("w", f"q{q}", "gold", "ann", "bundle", 3, "policy", ["A"]),
            ("w", f"q{q}", "near", "ann", "topical", 1, None, []),
            ("w", f"q{q}", "old", "ann", "contradictory", 0, None, []),
            ("w", f"q{q}", "odd", "ann", "uncertain", None, None, []),
        ]
    return (
        pd.DataFrame(rows, columns=[*KEY, "doc_id", "assessor", "label", "grade", "role", "bundles"])
        .astype({"grade": "Int64"})
        .assign(spans=[[]] * len(rows), date="2026-03-01")
    )


def test_adjudication_mends_disagreement_and_leaves_shared_errors():
    judged = recorded()
    truth = judged["label"]
    wrong = pd.Series("topical", truth.index)
    assert (assessors.adjudicated(truth, truth, wrong) == truth).all() and (assessors.adjudicated(truth, wrong, wrong) == "topical").all()
    every = assessors.assessed(judged, assessors.ASSESSORS, seed=4)
    checked(every, "judgements")
    assert set(every["assessor"]) == {"ann", "careful", "hasty", "adjudicated"} and len(every) == 4 * len(judged)
    uncertain = every["label"] == "uncertain"
    assert every.loc[uncertain, "grade"].isna().all() and every.loc[~uncertain, "grade"].notna().all()  # never silently 0
    table = checked(assessors.agreement_table(every, "ann", assessors.ASSESSORS, "t", 200), "judgement_agreement").set_index("measure")
    assert (table["ci_low"] <= table["estimate"]).all() and table.loc["alpha_without_uncertain", "left_out"] > 0
    with pytest.raises(ValueError, match="two assessors"):
        assessors.assessed(judged, {"ann": np.eye(5), "x": np.eye(5)})


def lists_of(queries=12):
    rows = [
        ("w", f"q{q}", "pooled", ranker, r, doc, 9.0 - r)
        for q in range(queries)
        for ranker, docs in (("good", ["gold", "near", "old"]), ("bad", ["old", "odd", "gold"]))
        for r, doc in enumerate(docs, 1)
    ]
    return pd.DataFrame(rows, columns=[*KEY, "scope", "ranker", "rank", "doc_id", "score"])


def test_perfect_assessors_change_nothing_and_the_effect_is_the_difference_of_the_audit():
    judged, rankings = recorded(), lists_of()
    member = pd.DataFrame({"dataset": "w", "qid": [f"q{q}" for q in range(12)], "slice": ["a", "b"] * 6})
    perfect = {"one": np.eye(5), "two": np.eye(5)}
    table = checked(effect.effect_table(rankings, assessors.assessed(judged, perfect), member, "good", "bad", "t", 3, resamples=200), "judgement_effect")
    assert len(table) == 4 * 3 and table["delta"].nunique() == 1 and table.loc[0, "delta"] == pytest.approx(1 - 1 / 2)  # gold at rank 1 against rank 3
    assert (table.loc[table["slice"] == "all", "uncertain"] == 12).all() and (table.loc[table["slice"] == "all", "relevant"] == 12).all()
    assert table.groupby("slice")[["verdict", "document_verdict"]].nunique().eq(1).all().all()
    drawn = effect.over_draws(rankings, judged, "good", "bad", perfect, 3, draws=2)
    assert np.allclose(drawn["delta"], 0.5) and (effect.spread(drawn, 0.5)["turned"] == 0).all() and (effect.spread(drawn, -0.5)["turned"] == 1).all()
    blind = {"one": np.tile([0, 0, 1.0, 0, 0], (5, 1)), "two": np.eye(5)}
    told = effect.effect_table(rankings, assessors.assessed(judged, blind), member, "good", "bad", "t", 3, resamples=200).set_index(["judged_by", "slice"])
    assert (
        told.loc[("one", "all"), "undefined"] == 12
        and math.isnan(told.loc[("one", "all"), "delta"])
        and told.loc[("adjudicated", "all"), "delta"] == pytest.approx(0.5)
    )


# ---- splits

TEXTS = {
    "rule-v1": "The ferry sails at nine on every day but Sunday, and the fare is four marks for one person.",
    "rule-v2": "The ferry sails at ten on every day but Sunday, and the fare is five marks for one person.",
    "copy": "The ferry sails at ten on every day but Sunday, and the fare is five marks for one person with a bag.",
    "other": "Night wardens carry a lamp and two keys, and hand both in when the shift is done.",
    "third": "Requests for chalk are written in the green book before noon.",
}
FAMILIES = {"rule-v1": "rule", "rule-v2": "rule", "copy": "faq", "other": "wardens", "third": "chalk"}


def test_near_duplicates_equal_brute_force():
    sets = {name: splits.shingles(said) for name, said in TEXTS.items()}
    brute = {(a, b): len(sets[a] & sets[b]) / len(sets[a] | sets[b]) for a, b in itertools.combinations(sorted(sets), 2)}
    assert splits.near_duplicates(TEXTS, least=0.3) == pytest.approx({p: v for p, v in brute.items() if v >= 0.3})
    assert ("copy", "rule-v2") in splits.near_duplicates(TEXTS) and splits.shingles("The") == frozenset()
    with pytest.raises(ValueError, match="least"):
        splits.near_duplicates(TEXTS, least=0)


def planted():
    questions = pd.DataFrame({"dataset": "d", "qid": ["a", "b", "c", "e", "f"], "asked_on": ["2024-01-01", "2026-01-01", "2024-05-01", "2026-02-01", None]})
    evidence = pd.DataFrame(
        [("d", "a", "rule-v1"), ("d", "b", "rule-v2"), ("d", "c", "other"), ("d", "e", "third"), ("d", "f", "copy")], columns=[*KEY, "doc_id"]
    )
    return questions, evidence


def test_a_planted_version_family_leak_is_found_and_the_family_split_has_none():
    questions, evidence = planted()
    pairs = splits.near_duplicates(TEXTS)
    assert list(pairs) == [("copy", "rule-v2")]
    temporal = splits.temporal_split(questions, "2025-01-01")
    assert temporal.set_index("qid")["side"].to_dict() == {"a": "train", "b": "test", "c": "train", "e": "test", "f": "neither"}
    found = splits.leaks(temporal, evidence, FAMILIES, pairs)
    assert found[["qid", "doc_id", "kind", "train_qid", "train_doc_id"]].values.tolist() == [["b", "rule-v2", "family", "a", "rule-v1"]]
    by_hand = pd.DataFrame({"dataset": "d", "qid": list("abcef"), "side": ["neither", "test", "train", "train", "train"], "split": "by hand"})
    assert splits.leaks(by_hand, evidence, FAMILIES, pairs)["kind"].tolist() == ["near-duplicate"]
    assert splits.leaks(by_hand, evidence, FAMILIES, {}).empty  # without the finder of near-duplicates this one stays unseen
    group = splits.groups(FAMILIES, pairs)
    assert len({group[d] for d in ("rule-v1", "rule-v2", "copy")}) == 1
    leaking = 0
    for seed in range(20):
        whole = splits.family_split(questions, evidence, group, seed=seed)
        assert splits.leaks(whole, evidence, FAMILIES, pairs).empty and {"train", "test"} <= set(whole["side"])
        leaking += len(splits.leaks(splits.random_split(questions, seed=seed), evidence, FAMILIES, pairs)) > 0
    assert leaking >= 10  # a random split of five questions parts the three of one family more often than not


def test_splits_do_not_depend_on_row_order_and_count_who_fits_neither_side():
    questions, evidence = planted()
    shared = pd.concat([evidence, pd.DataFrame([("d", "a", "other")], columns=evidence.columns)])
    shuffled = questions.sample(frac=1, random_state=3)
    for make in (lambda q: splits.random_split(q, seed=2), lambda q: splits.family_split(q, shared, FAMILIES, seed=2)):
        pd.testing.assert_frame_equal(make(questions), make(shuffled))
    sources = {"rule-v1": "policy", "rule-v2": "policy", "copy": "faq", "other": "notice", "third": "policy"}
    held = splits.source_split(questions, shared, sources, ["notice", "faq"]).set_index("qid")["side"]
    assert held.to_dict() == {"a": "neither", "b": "train", "c": "test", "e": "train", "f": "test"}
    table = checked(splits.split_table([splits.temporal_split(questions, "2025-01-01")], evidence, FAMILIES, {}, "t"), "judgement_splits").set_index("kind")
    assert table.loc["any", ["train", "test", "neither", "leaks", "touched"]].tolist() == [2, 2, 1, 1, 1] and table.loc["any", "estimate"] == 0.5
    nobody = checked(splits.split_table([splits.temporal_split(questions, "2030-01-01")], evidence, FAMILIES, {}, "t"), "judgement_splits")
    assert (nobody["test"] == 0).all() and nobody["estimate"].isna().all()


def test_degenerate_input_has_no_rows_and_no_crash():
    rankings, judged = world(1, 3)
    none = judged.assign(grade=0.0)
    rows = hidden_rows(rankings, none, "old", 3, 4, 10)
    assert rows.empty and hidden_table([rows], "t").empty
    both = pooling.both_audits(rankings, none, "old", [3], 4, 10)
    assert both.empty and pooling.bias(both, "t", 10).empty and pooling.reversals(both, "new", "old", "t", 10).empty
    one = hidden_table([hidden_rows(rankings, judged[judged["qid"] == "0"], "old", 3, 4, 10)], "t", resamples=10)
    assert (one["n"] <= 1).all() and one["ci_low"].isna().all()
    assert pooling.reversals(pooling.both_audits(rankings[rankings["ranker"] == "old"], judged, "old", [3], 4, 10), "new", "old", "t", 10).empty
    questions, evidence = planted()
    with pytest.raises(ValueError, match="no source or group"):
        splits.family_split(questions, evidence, {"rule-v1": "rule"})
    assert (splits.family_split(questions, evidence.iloc[:0], FAMILIES)["side"] == "neither").all()
