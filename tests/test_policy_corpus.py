"""The policy assistant's corpus: every rule on the real files, found again by brute force; what bad files say; and that the data card counts right."""
import copy
import json
import re
from datetime import date, timedelta

import pandas as pd
import pytest

from lib import policy_corpus
from lib.policy_corpus_checks import PLACES
from lib.policy_corpus_fields import LABELS, ROLES, SLICES
from lib.records import DataError

CORPUS = policy_corpus.read()
LINES = {name: [json.loads(line) for line in (policy_corpus.FOLDER / name).read_text(encoding="utf-8").split("\n") if line] for name in policy_corpus.FILES}
DOCUMENTS, QUESTIONS, JUDGEMENTS = LINES.values()
BY_ID, BY_QID = {d["doc_id"]: d for d in DOCUMENTS}, {q["qid"]: q for q in QUESTIONS}
OF = {qid: [j for j in JUDGEMENTS if j["qid"] == qid] for qid in BY_QID}
CARD = (policy_corpus.FOLDER / "README.md").read_text(encoding="utf-8")
each_question = pytest.mark.parametrize("q", QUESTIONS, ids=lambda q: q["qid"])


def may_see(doc: dict, q: dict) -> bool:
    """The hard filter in one line, apart from `policy_filters`: dates alone decide which version holds, since versions adjoin."""
    holds = doc["effective_from"] <= q["asked_on"] <= (doc["effective_to"] or "9999-12-31") and not doc["archived"]
    return holds and doc["jurisdiction"] in ("all", q["jurisdiction"]) and doc["entitlement"] in ("all", q["entitlement"])


def section(doc_id: str, section_id: str) -> dict:
    return next(s for s in BY_ID[doc_id]["sections"] if s["section_id"] == section_id)


def words(j: dict) -> str:
    first, last = j["sentences"]
    return " ".join(section(j["doc_id"], j["section_id"])["sentences"][first:last + 1])


def bundles(qid: str) -> dict[str, list[dict]]:
    return {name: [j for j in OF[qid] if name in j["bundles"]] for name in sorted({b for j in OF[qid] for b in j["bundles"]})}


# ---- what it holds


def test_it_is_large_enough_for_a_pool_of_100_to_leave_something_out():
    fewest = min(sum(len(d["sections"]) for d in DOCUMENTS if may_see(d, q) and d["source_type"] in q["acceptable_sources"]) for q in QUESTIONS)
    assert fewest >= 120 and len(QUESTIONS) >= 75
    assert set(pd.Series([q["slice"] for q in QUESTIONS]).value_counts()) == {20}


def test_passages_are_short_and_of_all_kinds():
    sizes = CORPUS.sections["words"]
    assert sizes.between(25, 90).all()
    assert set(CORPUS.sections["kind"]) == {"body", "appendix", "footnote", "table"}


def test_read_gives_what_the_files_hold():
    assert CORPUS.documents["doc_id"].tolist() == list(BY_ID) and CORPUS.questions["qid"].tolist() == list(BY_QID)
    assert CORPUS.sections["passage"].is_unique and len(CORPUS.sections) == sum(len(d["sections"]) for d in DOCUMENTS)
    told = [" ".join(" ".join(s["sentences"]) for s in d["sections"]) for d in DOCUMENTS]
    assert CORPUS.sections.groupby("doc_id", sort=False)["text"].agg(" ".join).tolist() == told
    assert CORPUS.judgements["grade"].isna().tolist() == [j["label"] == "uncertain" for j in JUDGEMENTS]
    assert set(CORPUS.judgements["label"]) == set(LABELS) and set(CORPUS.questions["slice"]) == set(SLICES)


@each_question
def test_every_bundle_supports_its_decision_and_may_be_shown(q):
    found = bundles(q["qid"])
    assert found
    for parts in found.values():
        assert len(parts) <= PLACES and {j["role"] for j in parts} == set(q["roles"]) <= set(ROLES)
        assert all(may_see(BY_ID[j["doc_id"]], q) and BY_ID[j["doc_id"]]["source_type"] in q["acceptable_sources"] for j in parts)
        if q["question_type"] == "span":
            assert any(a.lower() in words(j).lower() for a in q["answers"] for j in parts)
    assert not any(set(map(words, a)) < set(map(words, b)) for a in found.values() for b in found.values()), "a bundle inside another"


@each_question
def test_what_the_asker_may_not_see_earns_nothing(q):
    for j in OF[q["qid"]]:
        assert may_see(BY_ID[j["doc_id"]], q) or j["grade"] in (0, None)


def test_rules_that_must_travel_stand_far_from_the_question():
    """An exception of the exclusion slice stands in another section than its rule, and in an appendix, footnote or table."""
    for q in QUESTIONS:
        if q["slice"] == "exclusion":
            roles = {j["role"]: j for j in OF[q["qid"]] if j["role"]}
            rule, away = roles["operative"], roles["exception"]
            assert section(away["doc_id"], away["section_id"])["kind"] != "body"
            assert (rule["doc_id"], rule["section_id"]) != (away["doc_id"], away["section_id"])


def test_identifiers_stand_in_their_questions_and_paraphrases_name_none():
    form = r"\b[A-Z]{1,3}(-[A-Z]{2})?-\d+"
    assert all(re.search(form, q["question"]) for q in QUESTIONS if q["slice"] == "identifier")
    assert not any(re.search(form, q["question"]) for q in QUESTIONS if q["slice"] == "paraphrase")


def test_paraphrases_share_fewer_words_with_their_rule_than_identifiers_do():
    plain = {"the", "a", "an", "of", "to", "in", "is", "it", "and", "for", "that", "what", "who", "may", "i", "my", "be", "on", "by", "at", "as", "or", "not"}

    def shared(q):
        asked = set(re.findall(r"[a-z]+", q["question"].lower())) - plain
        told = " ".join(words(j) + " " + BY_ID[j["doc_id"]]["identifier"] for j in bundles(q["qid"])["A"] if j["role"] == "operative").lower()
        return len(asked & set(re.findall(r"[a-z]+", told))) / len(asked)

    means = pd.Series({q["qid"]: shared(q) for q in QUESTIONS}).groupby(lambda qid: BY_QID[qid]["slice"]).mean()
    assert means["paraphrase"] < 0.2 and means["identifier"] > 0.4


def test_the_same_question_on_two_days_has_two_answers():
    temporal = [q for q in QUESTIONS if q["slice"] == "temporal"]
    asked = pd.DataFrame([{"question": q["question"], "day": q["asked_on"], "answer": q["answers"][0]} for q in temporal]).groupby("question").nunique()
    assert (asked["day"] == asked["answer"]).all() and (asked["day"] == 2).sum() >= 8


def test_versions_of_one_family_are_nearly_equal_in_wording_and_adjoin():
    for old in (d for d in DOCUMENTS if d["superseded_by"]):
        new = BY_ID[old["superseded_by"]]
        assert date.fromisoformat(old["effective_to"]) + timedelta(1) == date.fromisoformat(new["effective_from"]) and old["family"] == new["family"]
        a, b = (set(re.findall(r"\w+", " ".join(" ".join(s["sentences"]) for s in d["sections"]))) for d in (old, new))
        assert a != b and len(a & b) / len(a | b) > 0.85


def test_several_questions_have_alternatives_and_some_judgements_stay_open():
    assert sum(len(bundles(qid)) > 1 for qid in BY_QID) >= 12
    assert sum(j["label"] == "uncertain" for j in JUDGEMENTS) >= 5
    assert sum(j["label"] == "contradictory" and not BY_ID[j["doc_id"]]["superseded_by"] for j in JUDGEMENTS) >= 20


def test_some_rights_and_regions_decide():
    unlike = [q for q in QUESTIONS if any(BY_ID[j["doc_id"]]["entitlement"] != "all" for j in OF[q["qid"]] if j["bundles"])]
    local = [q for q in QUESTIONS if any(BY_ID[j["doc_id"]]["jurisdiction"] != "all" for j in OF[q["qid"]] if j["bundles"])]
    kept = [j for j in JUDGEMENTS if not may_see({**BY_ID[j["doc_id"]], "effective_from": "", "effective_to": None}, BY_QID[j["qid"]])]
    assert len(unlike) >= 5 and len(local) >= 5 and len(kept) >= 10


def test_yes_and_no_are_balanced():
    said = [q["answers"][0] for q in QUESTIONS if q["question_type"] == "yesno"]
    assert set(said) == {"yes", "no"} and abs(said.count("yes") - said.count("no")) <= 4


def test_the_data_card_counts_right():
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (\d+) \|$", CARD, flags=re.MULTILINE)
    table = policy_corpus.counts(CORPUS)
    assert [(what, value, int(n)) for what, value, n in rows] == list(table.itertuples(index=False, name=None))


def test_one_question_is_shown_with_its_words():
    shown = policy_corpus.judged(CORPUS, "pa-ex-01")
    assert len(shown) == len(OF["pa-ex-01"]) and sorted(shown["words"]) == sorted(map(words, OF["pa-ex-01"]))
    with pytest.raises(ValueError, match="no judgement; qids look like pa-"):
        policy_corpus.judged(CORPUS, "pa-00")


# ---- bad input


@pytest.fixture
def written(tmp_path):
    """Writes the three files, each first handed to a change; gives their folder."""

    def write(**changes):
        for name, lines in LINES.items():
            lines = copy.deepcopy(lines)
            text = changes.get(name.split(".")[0], lambda rows: None)(lines)
            text = "".join(json.dumps(line) + "\n" for line in lines) if text is None else text
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return write


def put(at, **fields):
    return lambda rows: rows[at].update(fields)


def at(rows, **wanted):
    return next(i for i, row in enumerate(rows) if all(row[k] == v for k, v in wanted.items()))


OLD, GOLD = at(DOCUMENTS, doc_id="hr-14-v1"), next(i for i, j in enumerate(JUDGEMENTS) if j["bundles"])
UNSURE = at(JUDGEMENTS, label="uncertain")
NEW = at(DOCUMENTS, doc_id="hr-14-v3")
BAD = {
    "cut line": ({"documents": lambda rows: json.dumps(rows[0])[:40]}, "documents.jsonl, line 1: no valid JSON.*cut short"),
    "empty file": ({"questions": lambda rows: "\n"}, "questions.jsonl, line 1: the file holds no record"),
    "broken Unicode": ({"questions": lambda rows: b'{"qid": "\xff"}'}, "questions.jsonl, line 1: broken Unicode"),
    "half a sign": ({"questions": put(0, question="\ud800")}, "line 1, field question: .*half of a sign"),
    "no object": ({"judgements": lambda rows: "[1]"}, "expected a JSON object, got int"),
    "missing field": ({"questions": lambda rows: rows[2].pop("slice") and None}, "questions.jsonl, line 3, field slice: is missing; write null"),
    "unknown field": ({"documents": put(1, effectve_to=None)}, "line 2, field effectve_to: is unknown; name the fields doc_id"),
    "NaN": ({"judgements": put(0, grade=float("nan"))}, "judgements.jsonl, line 1, field grade: is nan, no whole number"),
    "NaN as text": ({"documents": put(0, title=float("nan"))}, "field title: is float nan"),
    "empty text": ({"questions": put(0, operative_claim=" ")}, "field operative_claim: is empty"),
    "unknown slice": ({"questions": put(0, slice="other")}, "field slice: is 'other', not one of identifier"),
    "unknown label": ({"judgements": put(0, label="good")}, "field label: is 'good', not one of topical"),
    "unknown source": ({"documents": put(0, source_type="rumour")}, "field source_type: is 'rumour'"),
    "no day": ({"documents": put(0, effective_from="2026-02-30")}, "field effective_from: is '2026-02-30', no day"),
    "day in short": ({"questions": put(0, asked_on="20260511")}, "field asked_on: is '20260511', no day"),
    "authority as truth": ({"documents": put(0, authority=True)}, "field authority: is True, no whole number from 0 to 3"),
    "archived as text": ({"documents": put(0, archived="no")}, "field archived: is 'no', neither true nor false"),
    "section twice": ({"documents": lambda rows: rows[0]["sections"].append(rows[0]["sections"][0] | {"heading": "Again"})}, "holds section_id 's1' twice"),
    "section without sentences": ({"documents": lambda rows: rows[0]["sections"][0].update(sentences=[])}, "field sections: .*a sentences that is '\\[\\]'"),
    "span turned": ({"judgements": put(0, sentences=[2, 1])}, "field sentences: is '\\[2, 1\\]', not \\[first, last\\]"),
    "span too far": ({"judgements": put(0, sentences=[0, 40])}, "field sentences: ends at 40, but .* counted from 0; shorten"),
    "document twice": ({"documents": lambda rows: rows.append(rows[0])}, r"documents.jsonl, line \d+, field doc_id: 'hr-14-v1' stands in line 1 already"),
    "question twice": ({"questions": lambda rows: rows.append(rows[0])}, r"field qid: .* stands in line 1 already"),
    "judged twice": ({"judgements": lambda rows: rows.append(rows[0])}, r"field section_id: .* stands in line 1 already"),
    "unknown question": ({"judgements": put(0, qid="pa-xx")}, "field qid: 'pa-xx' is no question here"),
    "unknown passage": ({"judgements": put(0, section_id="s99")}, "#s99 is no passage here"),
    "uncertain as 0": ({"judgements": put(UNSURE, grade=0)}, "field grade: is 0 for the label uncertain; uncertain has grade null"),
    "grade missing": ({"judgements": put(GOLD, grade=None)}, "field grade: is None for the label bundle"),
    "grade unfit": ({"judgements": put(GOLD, grade=0)}, "field grade: is 0 for the label bundle; give 1 to 3"),
    "role without bundle": ({"judgements": put(UNSURE, role="operative")}, "field bundles: .* label bundle has a role"),
    "no successor": ({"documents": put(OLD, superseded_by="hr-99")}, "field superseded_by: names 'hr-99', which is no document"),
    "successor of another family": ({"documents": put(OLD, superseded_by="fn-03-v2")}, "names 'fn-03-v2' of another family"),
    "gap": ({"documents": put(OLD, effective_to="2024-03-30")}, "is 2024-03-30, but the successor begins on 2024-04-01"),
    "cycle": ({"documents": put(NEW, superseded_by="hr-14-v1", effective_to="2026-12-31")}, "is 2026-12-31, but the successor begins on 2021-04-01"),
    "ends before it began": ({"documents": put(OLD, effective_to="2020-01-01")}, "2020-01-01 is before 2021-04-01"),
    "forbidden gold": ({"documents": put(NEW, entitlement="board")}, "the asker may not see hr-14-v3 that day"),
    "unacceptable gold": ({"questions": put(0, acceptable_sources=["minutes"])}, "field bundles: .* may not be shown for 'pa-id-01'"),
    "no day after the last": ({"documents": put(OLD, effective_to="9999-12-31")}, "line 1, field effective_to: is 9999-12-31, but the successor begins on"),
    "a # in a document": ({"documents": put(1, doc_id="a#b")}, "documents.jsonl, line 2, field doc_id: is 'a#b', an id with '#'; mend"),
    "a # in a section": ({"documents": lambda rows: rows[2]["sections"][0].update(section_id="b#c")}, "line 3, field sections: .* is 'b#c', an id with '#'"),
    "blank before an id": ({"documents": put(1, doc_id=" ab")}, "line 2, field doc_id: is ' ab', an id with white space at an end"),
    "blank after a section": ({"documents": lambda rows: rows[2]["sections"][0].update(section_id="s1\t")}, "line 3, field sections: .*white space at an end"),
    "a lost line of a bundle": ({"judgements": lambda rows: rows.pop(at(rows, qid="pa-ex-01", role="exception")) and None},
                                r"but bundle A fills \['operative'\] for 'pa-ex-01'; .*may be lost"),
    "no bundle": ({"judgements": lambda rows: [r.update(label="topical", role=None, bundles=[], grade=0) for r in rows if r["qid"] == "pa-id-01"] and None},
                  "field qid: 'pa-id-01' has no bundle"),
    "role unfilled": ({"questions": put(0, roles=["operative", "exception"])}, r"field roles: are \['exception', 'operative'\], but bundle A fills"),
    "answer elsewhere": ({"questions": put(0, answers=["37 ondrals"])}, r"field answers: none of \['37 ondrals'\] stands in bundle A"),
    "neither yes nor no": ({"questions": put(at(QUESTIONS, question_type="yesno"), answers=["perhaps"])}, "answer yes or no"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_clear_error(written, case):
    changes, said = BAD[case]
    with pytest.raises(ValueError, match=said) as error:
        policy_corpus.read(written(**changes))
    assert isinstance(error.value, DataError) and ";" in str(error.value) and "\n" not in str(error.value)


def test_a_missing_file_is_one_clear_error(written):
    (folder := written()).joinpath("judgements.jsonl").unlink()
    with pytest.raises(DataError, match="judgements.jsonl: is not there; check the path"):
        policy_corpus.read(folder)


def test_a_bundle_of_five_passages_is_too_many(written):
    def five(rows):
        mine = [r for r in rows if r["qid"] == "pa-me-01"]
        judged = [r["section_id"] for r in mine if r["doc_id"] == "pr-fn-03-v1"]
        spare = [s["section_id"] for s in BY_ID["pr-fn-03-v1"]["sections"] if s["section_id"] not in judged]
        rows += [{**mine[0], "doc_id": "pr-fn-03-v1", "section_id": s, "sentences": [0, 0], "bundles": ["A"]} for s in spare]

    with pytest.raises(DataError, match="bundle A has 5 passages; let 4 do"):
        policy_corpus.read(written(judgements=five))


@pytest.mark.parametrize("cut", [lambda rows: rows.pop(-1) and None, lambda rows: rows.pop(at(rows, label="topical")) and None,
                                 lambda rows: [rows.remove(r) for r in rows[:] if r["qid"] == "pa-id-01" and "B" in r["bundles"]] and None],
                         ids=["last line", "a topical one", "an alternative"])
def test_files_that_lost_lines_which_nothing_else_misses_are_short_of_their_data_card(written, cut):
    folder = written(judgements=cut)
    policy_corpus.read(folder)  # without a card nobody can know
    (folder / "README.md").write_text(CARD, encoding="utf-8")
    kept = sum(1 for line in (folder / "judgements.jsonl").read_text(encoding="utf-8").split("\n") if line)
    with pytest.raises(DataError, match=rf"README.md, line \d+, field judgements: all: the card counts {len(JUDGEMENTS)}, the files hold {kept}; .*'pa-"):
        policy_corpus.read(folder)


def test_a_card_without_counts_asks_for_nothing(written):
    (folder := written()).joinpath("README.md").write_text("# Our papers\n", encoding="utf-8")
    assert len(policy_corpus.read(folder).documents) == len(DOCUMENTS)


def test_order_of_lines_changes_nothing(written):
    folder = written(documents=lambda rows: rows.reverse(), questions=lambda rows: rows.reverse(), judgements=lambda rows: rows.reverse())
    pd.testing.assert_frame_equal(policy_corpus.counts(policy_corpus.read(folder)), policy_corpus.counts(CORPUS))
