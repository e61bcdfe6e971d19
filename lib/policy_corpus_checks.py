"""What must hold between the policy corpus's documents, questions and judgements; the first fault is one error with file, line, field and mend.

A corpus in which a gold passage is superseded, forbidden or out of reach would blame the search for its own faults.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import pandas as pd

from lib import policy_filters
from lib.records import Record

PLACES = 4  # passages that the assistant shows
GRADES = {"bundle": (1, 3), "supportive": (1, 3), "topical": (0, 1), "contradictory": (0, 0)}  # uncertain: none
HIDES = ("effective_time", "jurisdiction", "entitlement", "superseded", "archived")  # rules that keep a passage from its asker


def check_versions(documents: Sequence[Record]) -> None:
    """A version ends on a day after it began; its successor is of its family and begins on the next day. Dates that rise along a chain leave no cycle."""
    by = {d.fields["doc_id"]: d.fields for d in documents}
    for d in documents:
        starts, ends, after = d.fields["effective_from"], d.fields["effective_to"], d.fields["superseded_by"]
        if ends is not None and ends < starts:
            raise d.error("effective_to", f"{ends} is before {starts}", "swap the days or mend one")
        if after is None:
            continue
        if after not in by:
            raise d.error("superseded_by", f"names {after!r}, which is no document here", "name a doc_id, or null")
        if by[after]["family"] != d.fields["family"]:
            raise d.error("superseded_by", f"names {after!r} of another family", "a version is superseded by one of its own family")
        last = date.max if ends is None else date.fromisoformat(ends)  # after the last day that there is no successor can begin
        if last == date.max or (last + timedelta(1)).isoformat() != by[after]["effective_from"]:
            raise d.error("effective_to", f"is {ends}, but the successor begins on {by[after]['effective_from']}",
                          "let one end on the day before the other begins")


def check_judgements(judgements: Sequence[Record], documents: Sequence[Record], questions: Sequence[Record]) -> None:
    """Each judgement names what there is, a span inside its section, and a grade, role and bundles that fit its label."""
    sentences = {(d.fields["doc_id"], s["section_id"]): len(s["sentences"]) for d in documents for s in d.fields["sections"]}
    qids = {q.fields["qid"] for q in questions}
    for j in judgements:
        f = j.fields
        if f["qid"] not in qids:
            raise j.error("qid", f"{f['qid']!r} is no question here", "mend the id or add the question")
        if (passage := (f["doc_id"], f["section_id"])) not in sentences:
            raise j.error("section_id", f"{'#'.join(passage)} is no passage here", "name a doc_id and a section of it")
        if f["sentences"][1] >= sentences[passage]:
            raise j.error("sentences", f"ends at {f['sentences'][1]}, but {'#'.join(passage)} has {sentences[passage]}, counted from 0", "shorten the span")
        if (f["label"] == "uncertain") != (f["grade"] is None):
            raise j.error("grade", f"is {f['grade']} for the label {f['label']}", "uncertain has grade null, every other label a number")
        low, high = GRADES.get(f["label"], (0, 0))
        if f["grade"] is not None and not low <= f["grade"] <= high:
            raise j.error("grade", f"is {f['grade']} for the label {f['label']}", f"give {low} to {high}")
        if (f["label"] == "bundle") != bool(f["bundles"]) or bool(f["bundles"]) != (f["role"] is not None):
            raise j.error("bundles", f"{f['bundles']} with role {f['role']} and label {f['label']}",
                          "label bundle has a role and at least one bundle, others neither")


def check_questions(questions: Sequence[Record], judgements: Sequence[Record], documents: Sequence[Record]) -> None:
    """Each question has a bundle; each bundle fits in ``PLACES``, fills the roles, holds the answer and nothing that its asker may not see that day."""
    table = pd.DataFrame([d.fields for d in documents])
    of = defaultdict(list)
    for j in judgements:
        of[j.fields["qid"]].append(j)
    texts = {(d.fields["doc_id"], s["section_id"]): s["sentences"] for d in documents for s in d.fields["sections"]}
    for q in questions:
        mine = of[q.fields["qid"]]
        refused = policy_filters.refusals(table, q.fields)
        hidden, unfit = set(refused.index[refused[list(HIDES)].any(axis=1)]), set(refused.index[refused.any(axis=1)])
        for j in mine:
            if j.fields["grade"] and j.fields["doc_id"] in hidden:
                raise j.error("grade", f"is {j.fields['grade']}, but the asker may not see {j.fields['doc_id']} that day", "give 0, or mend dates and rights")
        names = sorted({b for j in mine for b in j.fields["bundles"]})
        if not names:
            raise q.error("qid", f"{q.fields['qid']!r} has no bundle",
                          "judge at least one passage as part of a bundle; lines of judgements may be lost")
        for name in names:
            _check_bundle(q, name, [j for j in mine if name in j.fields["bundles"]], unfit, texts)
        if q.fields["question_type"] == "yesno" and q.fields["answers"] not in (["yes"], ["no"]):
            raise q.error("answers", f"are {q.fields['answers']}", "answer yes or no")


def _check_bundle(q: Record, name: str, parts: Sequence[Record], unfit: set[str], texts: Mapping) -> None:
    bad = next((j for j in parts if j.fields["doc_id"] in unfit), None)
    if bad:
        raise bad.error("bundles", f"{bad.fields['doc_id']} may not be shown for {q.fields['qid']!r} (date, region, rights, source or version)", "take it out")
    if len(parts) > PLACES:
        raise q.error("qid", f"bundle {name} has {len(parts)} passages", f"let {PLACES} do")
    roles = {j.fields["role"] for j in parts}
    if roles != set(q.fields["roles"]):
        raise q.error("roles", f"are {sorted(q.fields['roles'])}, but bundle {name} fills {sorted(roles)} for {q.fields['qid']!r}",
                      "add or drop a passage or a role; a line of judgements may be lost")
    if q.fields["question_type"] == "span":
        words = [s for j in parts for s in texts[j.fields["doc_id"], j.fields["section_id"]][j.fields["sentences"][0]:j.fields["sentences"][1] + 1]]
        if not any(a.lower() in s.lower() for a in q.fields["answers"] for s in words):
            raise q.error("answers", f"none of {q.fields['answers']} stands in bundle {name}", "let an answer occur word for word in a span")
