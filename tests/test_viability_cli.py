"""One command, one page: what it writes, what it prints, its exit status; the notebook's call gives the same files; the figures' titles."""

import contextlib
import io
import re
import subprocess
import sys

import pandas as pd
import pytest

from lib import tables
from lib.charts import NothingToDraw
from lib.figures_viability import plane_finding, two_error_plane
from lib.figures_viability_regressions import clear, regression_finding, regressions_by_slice
from lib.viability_assembly import Inputs, assemble
from lib.viability_cli import main, read_inputs
from lib.viability_cli import parser as arguments
from lib.viability_definitions import definitions
from lib.viability_inputs import read_judgements, read_run
from lib.viability_report import otherwise, page
from lib.viability_report_tables import causes
from lib.viability_requirement import parse_all
from lib.viability_run import audit_report, declared, write_report
from lib.viability_slices import no_slices
from tests.test_viability import judged, lists, random_run

FILES = {"report.html", "queries.csv", "slices.csv", "verdicts.csv", "causes.csv", "cause_shares.csv", "units.csv", "controls.csv", "counts.csv"}


def trec(rankings, tag):
    return "".join(f"{r.qid} Q0 {r.doc_id} {r.rank} {r.score:.6f} {tag}\n" for r in rankings.itertuples())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run, judgements, a reranked run, slices, queries and a corpus as files."""
    at = tmp_path_factory.mktemp("runs")
    first, again, gold = random_run(1, queries=24)
    (at / "hybrid.trec").write_text(trec(first, "hybrid"))
    (at / "cross.trec").write_text(trec(again, "cross"))
    (at / "qrels.txt").write_text("".join(f"{r.qid} 0 {r.doc_id} {r.grade:.0f}\n" for r in gold.itertuples()))
    (at / "slices.csv").write_text("qid,slice\n" + "".join(f"q{i},{'<b>odd</b>' if i % 2 else 'even & more'}\n" for i in range(24)))
    (at / "queries.csv").write_text("qid,text\n" + "".join(f"q{i},which number is {i}\n" for i in range(24)))
    (at / "corpus.csv").write_text("doc_id,title,text\n" + "".join(f"d{i},T{i},the number is {i}\n" for i in range(30)))
    return at


def command(folder, out, *more):
    return [
        "--run",
        f"{folder}/hybrid.trec",
        "--qrels",
        f"{folder}/qrels.txt",
        "--reranked",
        f"{folder}/cross.trec",
        "--slices",
        f"{folder}/slices.csv",
        "--k",
        "5",
        "--resamples",
        "200",
        "--out",
        str(out),
        *more,
    ]


@pytest.fixture(scope="module")
def written(folder):
    """The files of one command, and what it printed."""
    out, said = folder / "out", io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(command(folder, out, "--queries", f"{folder}/queries.csv", "--corpus", f"{folder}/corpus.csv")) == 0
    return out, said.getvalue()


def test_one_command_writes_the_report_and_prints_both_verdicts(written):
    out, said = written
    assert {p.name for p in out.iterdir()} == FILES
    assert (
        re.search(r"^all: .*\(document 001: fix retrieval\); the required evidence is absent for \d+ of \d+", said, re.M) and "written: report.html" in said
    )
    assert set(pd.read_csv(out / "causes.csv")["cause"]) <= {"vocabulary", "unknown", "underspecified query"}


def test_the_page_stands_alone_and_shows_names_as_text(written):
    text = (written[0] / "report.html").read_text(encoding="utf-8")
    assert not re.search(r'(?:src|href)="(?!#)|url\((?!#)|@import|<script', text)
    assert "<b>odd</b>" not in text and "&lt;b&gt;odd&lt;/b&gt;" in text and "even &amp; more" in text
    assert text.count("<svg ") == text.count('role="img"') == 2 and "our verdict" in text and "document 001" in text and "oracle order" in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_the_notebooks_call_gives_the_same_bytes(folder, written, tmp_path):
    args = arguments().parse_args(command(folder, tmp_path, "--queries", f"{folder}/queries.csv", "--corpus", f"{folder}/corpus.csv"))
    write_report(audit_report(read_inputs(args), parse_all("all"), cutoff=5, resamples=200), tmp_path)
    for name in FILES:
        assert (written[0] / name).read_bytes() == (tmp_path / name).read_bytes(), name


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--run", "nowhere.trec"], "nowhere.trec: is not there"),
        (["--requirement", "policy:none"], "a requirement is"),
        (["--k", "0"], "cutoff of at least 1"),
        (["--depth", "-1"], "depth is at least 1"),
        (["--requirement", "nobody=1"], "'nobody'"),
        (["--resamples", "0"], "--resamples must be a whole number of 100 or more, got 0"),
        (["--resamples", "99"], "--resamples must be a whole number of 100 or more, got 99"),
    ],
)
def test_wrong_input_is_one_line_status_2_and_nothing_written(folder, tmp_path, capsys, change, said):
    assert main([*command(folder, tmp_path / "out"), *change]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and said in error and error.count("\n") == 1 and not (tmp_path / "out").exists()


def test_judgements_are_asked_for(folder, tmp_path, capsys):
    assert main(["--run", f"{folder}/hybrid.trec", "--out", str(tmp_path)]) == 2 and "--qrels, or --beir" in capsys.readouterr().err


def test_a_gate_fails_where_a_slice_must_be_mended(folder, tmp_path):
    assert main(command(folder, tmp_path, "--gate")) == 1
    (folder / "good.trec").write_text("".join(f"q{i} Q0 r 1 1 x\n" for i in range(200)))
    (folder / "good.txt").write_text("".join(f"q{i} 0 r 1\n" for i in range(200)))
    assert main(["--run", f"{folder}/good.trec", "--qrels", f"{folder}/good.txt", "--resamples", "100", "--out", str(tmp_path), "--gate"]) == 0


def gated(folder, out, name, run, qrels, *more):
    """The exit status of a gate over a run and judgements given as text."""
    (folder / f"{name}.trec").write_text(run)
    (folder / f"{name}.txt").write_text(qrels)
    return main(["--run", f"{folder}/{name}.trec", "--qrels", f"{folder}/{name}.txt", "--resamples", "100", "--out", str(out), "--gate", *more])


def test_a_gate_does_not_pass_what_is_undefined(folder, tmp_path, capsys):
    run = "".join(f"q{i} Q0 r 1 1 x\n" for i in range(200))
    assert gated(folder, tmp_path, "zeros", run, "".join(f"q{i} 0 r 0\n" for i in range(200))) == 1
    assert capsys.readouterr().err == (
        "gate: not passed; all: undefined, since no query has a relevant passage in the judgements, so nothing can be judged\n"
    )
    assert gated(folder, tmp_path, "asks", run, "".join(f"q{i} 0 r 1\n" for i in range(200)), "--requirement", "2") == 1
    assert "the judgements of no query hold the evidence" in capsys.readouterr().err


def test_undecided_alone_and_a_slice_of_one_query_pass_a_gate(folder, tmp_path, capsys):
    """One query of 200 is a slice of its own: its pool lacks the evidence, or its reranker spoils a correct order, or nothing is judged."""
    good, judgements = "".join(f"q{i} Q0 r 2 2 x\nq{i} Q0 n 3 1 x\n" for i in range(199)), "".join(f"q{i} 0 r 1\n" for i in range(199))
    (folder / "lone.csv").write_text("qid,slice\nlone,lone\n")
    (folder / "spoilt.trec").write_text(good + "lone Q0 n 1 2 x\nlone Q0 r 2 1 x\n")
    for name, pool, grade, more in (
        ("absent", "n", 1, []),
        ("spoilt-first", "r", 1, ["--reranked", f"{folder}/spoilt.trec"]),
        ("unjudged", "r", 0, []),
    ):
        rest = "r" if pool == "n" else "n"
        run = good + f"lone Q0 {pool} 1 3 x\n" + (f"lone Q0 {rest} 2 2 x\n" if name == "spoilt-first" else "")
        assert gated(folder, tmp_path, name, run, judgements + f"lone 0 r {grade}\n", "--slices", f"{folder}/lone.csv", *more) == 0, name
        said = capsys.readouterr().out
        assert re.search(r"^lone: und\w+", said, re.M), said
    few = "".join(f"q{i} Q0 n 1 2 x\nq{i} Q0 r 2 1 x\n" for i in range(4))
    assert gated(folder, tmp_path, "four", few, "".join(f"q{i} 0 r 1\n" for i in range(4)), "--reranked", f"{folder}/four.trec") == 0
    assert "all: undecided: retrieval, ordering, reranking" in capsys.readouterr().out
    assert "undecided alone passes" in " ".join(arguments().format_help().split())


def test_one_file_of_texts_alone_is_told(folder, tmp_path, capsys):
    for name, given in (("corpus", "corpus.csv"), ("queries", "queries.csv")):
        assert main(command(folder, tmp_path, f"--{name}", f"{folder}/{given}")) == 0
        assert f"note: only --{name} was given; why evidence is missing is told from --queries and --corpus together" in capsys.readouterr().out
        assert "texts of queries and corpus, both are needed" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_module_is_a_command(folder, tmp_path):
    done = subprocess.run([sys.executable, "-m", "lib.viability", *command(folder, tmp_path)], cwd=tables.ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "written: report.html" in done.stdout and done.stderr == ""


def test_without_a_reranker_the_report_still_stands(folder, tmp_path):
    made = audit_report(assemble(read_run(folder / "hybrid.trec"), read_judgements(folder / "qrels.txt")), cutoff=5, resamples=100)
    text = page(made)
    assert "No figure “Whom the reranker lifts, whom it lowers”: nothing was reranked." in text and text.count("<svg ") == 1
    assert "no reranker" in text and set(made.verdicts["reranking"]) == {"none"}


def test_a_run_of_one_query_and_one_without_gold_do_not_crash(tmp_path):
    for gold in (judged(q={"a": 1}), judged(q={"a": 0})):
        made = audit_report(Inputs(lists(q=["a"]), lists("re", q=["a"]), gold, no_slices(), pd.DataFrame(columns=["what", "n", "meaning"])), resamples=50)
        assert len(write_report(made, tmp_path)) == len(FILES) and len(made.verdicts) == 2
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        head = text[: text.index("How to read")]
        assert "_" not in " ".join(re.findall(r"No figure[^<]*", text)) and "1 queries" not in head + " ".join(re.findall(r"<td[^>]*>[^<]*", text))
    assert text.count("No figure") == 2 and text.count("no query has a relevant passage, so none has a score") == 2


def test_the_page_explains_its_terms_and_few_queries(written):
    text = (written[0] / "report.html").read_text(encoding="utf-8")
    paragraph = re.search(r"How to read this page</h2><p class=reading>(.*?)</p>", text, re.S)[1]
    assert all(f"<b>{term}</b>" in paragraph for term in ("nDCG@5", "MRR", "Graded coverage", "resamples", "Holm’s correction", "Estimates alone"))
    assert "drawn anew 200 times" in paragraph and "fewer than 6 queries" in text and "sign test cannot reach 0.05" in text


def test_a_figure_of_few_queries_claims_no_gain():
    first = {f"q{q}": ["n", "r"] for q in range(4)}
    given = lists(**first), lists("re", **{q: ["r", "n"] for q in first}), judged(**{q: {"r": 1} for q in first})
    made = audit_report(Inputs(*given, no_slices(), pd.DataFrame(columns=["what", "n", "meaning"])), resamples=100)
    assert "The reranker is undecided on all queries" in page(made) and "estimates alone: rerank" in page(made)


def test_the_headline_names_slices_of_another_verdict():
    said = ["rerank", "rerank; undecided: retrieval", "repair retrieval", "undecided: retrieval, ordering", "undefined"]
    rows = pd.DataFrame({"dataset": "set", "slice": ["all", "a", "b", "c", "d"], "verdict": said})
    assert otherwise(rows) == "b (repair retrieval), c (undecided), d (undefined)" and otherwise(rows.head(2)) == ""
    many = pd.DataFrame({"dataset": "set", "slice": ["all", *"abcdefg"], "verdict": ["rerank", *["repair retrieval"] * 7]})
    assert otherwise(many).count("repair") == 6 and otherwise(many).endswith(" and 1 more slice")
    two = pd.concat([rows.head(3), rows.head(1).assign(dataset="other", verdict="undefined")])
    assert otherwise(two) == "set: b (repair retrieval)"


def test_on_a_narrow_screen_the_verdicts_are_cards_that_name_each_number(written):
    text = (written[0] / "report.html").read_text(encoding="utf-8")
    assert text.count("<table class=cards>") == 1 and '<td data-head="headroom">' in text
    assert re.search(r"@media \(max-width:700px\)\{.*\.cards tr\{display:grid", text, re.S)


def test_the_reports_of_several_rerankers_fit_the_declared_tables():
    first, again, gold = random_run(5)
    names = pd.DataFrame([("set", f"q{i}", "odd" if i % 2 else "even") for i in range(20)], columns=["dataset", "qid", "slice"])
    counts = pd.DataFrame(columns=["what", "n", "meaning"])
    made = declared([audit_report(Inputs(first, r, gold, names, counts), cutoff=5, resamples=100, tier="sample") for r in (again, None)])
    checked = {name: tables.check(table, name) for name, table in made.items()}
    assert set(checked["audit"]["reranker"]) == {"reranker", "none"} and len(checked["audit"]) == 2 * 2 * 20
    assert checked["audit_missing"]["qid"].nunique() <= 20 and not checked["audit_missing"].duplicated(["qid", "doc_id"]).any()


def test_two_data_sets_with_equal_ids_are_kept_apart():
    """The same query and passage ids in both; in one the missing passage shares the question's words, in the other it does not."""
    first, gold = lists(q=["a"]), judged(q={"a": 1, "b": 1})
    both = [pd.concat([t, t.assign(dataset="other")], ignore_index=True) for t in (first, gold)]
    queries = pd.DataFrame({"dataset": ["set", "other"], "qid": "q", "text": ["green gate", "green gate"]})
    corpus = pd.DataFrame({"dataset": ["set", "other"] * 2, "doc_id": ["a", "a", "b", "b"], "text": ["x", "y", "green gate", "soup"]})
    made = audit_report(Inputs(both[0], None, both[1], no_slices(), pd.DataFrame(columns=["what", "n", "meaning"]), queries, corpus), resamples=50)
    assert made.causes.set_index("dataset")["overlap"].to_dict() == {"set": 1.0, "other": 0.0}
    assert sorted(made.verdicts["dataset"].unique()) == ["other", "set"] and len(made.units["dataset"].unique()) == 2


def test_definitions_are_complete_rows():
    assert definitions().map(bool).all(axis=None) and set(definitions()["compared"]) == {"equal", "differs"}


# ---- figures


def drawn(**kwargs):
    first, again, gold = random_run(5)
    names = pd.DataFrame([("set", f"q{i}", "odd" if i % 2 else "even") for i in range(20)], columns=["dataset", "qid", "slice"])
    made = audit_report(Inputs(first, again, gold, names, pd.DataFrame(columns=["what", "n", "meaning"])), cutoff=5, resamples=100, tier="sample")
    return made.slices.query("gain == 'linear'"), made.verdicts.query("gain == 'linear'")


def test_the_plane_has_a_mark_a_slice_with_both_intervals_and_names_its_regions():
    slices, verdicts = drawn()
    spec = two_error_plane(slices, verdicts, "sample").to_dict()
    rows = next(r for r in spec["datasets"].values() if "omission_gap" in r[0])
    assert {r["name"] for r in rows} == {"odd", "even", "all queries"}
    for r in rows:
        assert (
            r["omission_gap_low"] <= r["omission_gap"] <= r["omission_gap_high"]
            and r["ordering_headroom_low"] <= r["ordering_headroom"] <= r["ordering_headroom_high"]
        )
    text = str(spec)
    assert all(name in text for name in ("RERANK", "REPAIR RETRIEVAL", "REPAIR BOTH", "BASELINE"))
    assert "sample tier" in " ".join(spec["title"]["subtitle"])


def test_the_plane_of_two_set_ups_or_of_nothing_is_refused():
    slices, verdicts = drawn()
    with pytest.raises(NothingToDraw, match="2 set-ups"):
        two_error_plane(pd.concat([slices, slices.assign(depth=3)]), verdicts)
    with pytest.raises(NothingToDraw, match="no slice has"):
        two_error_plane(slices.assign(estimate=float("nan")), verdicts)


@pytest.mark.parametrize(
    ("said", "title"),
    [
        (["wins", "loses", "wins"], "The reranker gains on a; loses on b; it lowers 5 of 30 queries"),
        (["undecided", "undecided", "wins"], "The reranker is undecided on a and b; it lowers 5 of 30 queries"),
    ],
)
def test_the_regressions_title_says_what_the_table_says(said, title):
    df = pd.DataFrame({"slice": ["a", "b", "all"], "name": ["a", "b", "all queries"], "regressed": [0.2, 0.1, 1 / 6], "regressed_n": [20, 10, 30]})
    assert regression_finding(df, said) == title


@pytest.mark.parametrize(
    ("said", "whole", "title"),
    [
        (["loses"] * 4 + ["wins"], "loses", "The reranker loses over all queries; it gains on 1 and loses on 4 of 5 slices; it lowers 6 of 60 queries"),
        (["undecided"] * 5, "wins", "The reranker gains over all queries; it is undecided on all 5 slices; it lowers 6 of 60 queries"),
    ],
)
def test_of_many_slices_the_title_tells_the_number(said, whole, title):
    df = pd.DataFrame({"slice": [*"abcde", "all"], "name": [*"abcde", "all queries"], "regressed": 0.1, "regressed_n": [12] * 5 + [60]})
    assert regression_finding(df, [*said, whole]) == title


@pytest.mark.parametrize(
    ("low", "high", "p_holm", "said"),
    [(0.01, 0.2, 0.04, "wins"), (0.01, 0.2, 0.05, "undecided"), (-0.2, -0.01, 0.001, "loses"), (-0.1, 0.1, float("nan"), "undecided"), (0.01, 0.2, float("nan"), "wins")],
)
def test_a_net_change_is_clear_where_interval_and_correction_say_so(low, high, p_holm, said):
    assert clear(low, high, p_holm) == said


def test_the_title_of_a_plane_of_many_slices_begins_with_all_queries():
    df = pd.DataFrame({"slice": [*"abcdefg", "all"], "name": [*"abcdefg", "all queries"], "verdict": ["undecided: retrieval"] * 6 + ["rerank", "reject this reranker"]})
    assert plane_finding(df) == "All queries: reject this reranker; of 7 slices, 1 slice: rerank; 6 of 7 undecided"
    few = df[df["slice"].isin(["a", "g", "all"])]
    assert plane_finding(few) == "g: rerank; 1 of 2 undecided"


@pytest.mark.parametrize(("n", "said"), [(1, "1 relevant passage is missing"), (2, "2 relevant passages are missing")])
def test_missing_passages_without_texts_are_counted_in_good_grammar(n, said):
    shares = pd.DataFrame({"slice": ["all"], "cause": ["unknown"], "passages": [n]})
    assert said in causes(shares)


def test_net_change_is_what_was_lifted_less_what_was_lost():
    slices, verdicts = drawn()
    spec = regressions_by_slice(slices, verdicts, "sample").to_dict()
    rows = next(r for r in spec["datasets"].values() if "lifted" in r[0])
    assert all(abs(r["lifted"] + r["spoilt"] - r["realised_gain"]) < 1e-5 and r["spoilt"] <= 0 <= r["lifted"] for r in rows)
