"""Reads the interventional test off its table: did coverage and the answer part, and with which of them went F1? (Document 000, section 3.4.)"""
from __future__ import annotations

import pandas as pd

from lib import wording

SAME = ("equivalent", "slightly up", "slightly down")  # no move of the margin's size, shown by test
SAID = {"moved up": "moved up", "moved down": "moved down", "equivalent": "did not move", "slightly up": "moved up, but by less than the margin",
        "slightly down": "moved down, but by less than the margin", "inconclusive": "is undecided", "undefined": "is undefined", "not read": "was not read"}
MEANING = {
    "no gold": "No question has gold passages, so whether coverage moved cannot be said.",
    "no span": "No question has an answer to look for in the context, so there is nothing to compare coverage with.",
    "no move": "Coverage did not move, so there was no intervention to learn from.",
    "coverage undecided": "Whether coverage moved at all is undecided: no intervention to learn from at this number of questions.",
    "together": "No dissociation: answer-in-context moved with coverage, so the test cannot say which of the two the answers follow.",
    "against both": "Coverage and answer-in-context moved together, and F1 the other way: against both as what the answers follow.",
    "opposed": "Dissociation: answer-in-context moved against coverage.",
    "against the diagnostic": "Coverage moved, answer-in-context did not, and F1 moved all the same: against answer-in-context as the quantity to watch.",
    "dissociation": "Dissociation: coverage moved, answer-in-context and F1 did not.",
    "dissociation, F1 undecided": "Coverage moved and answer-in-context did not; whether F1 moved is undecided at this number of questions.",
    "inconclusive": "Inconclusive: coverage moved, but whether answer-in-context moved too is undecided at this number of questions.",
}
PANEL = ["dataset", "pack_id", "budget", "half", "treatment", "control"]
DIAGNOSTICS = ("answer_in_context_defined", "answer_in_context")
UNDEFINED = pd.Series({"verdict": "undefined"})


def pattern(table: pd.DataFrame, reader: str, diagnostic: str = "answer_in_context_defined") -> pd.DataFrame:
    """What each panel of the intervention table shows: a row a data set, pack, budget and half that ``reader`` read (all where it read none).

    Columns: dataset, pack_id, budget, half, treatment, control, precision, coverage, answer, f1 (their verdicts), pattern (a key of MEANING)
    and said, the sentences that hold whichever way the numbers fall. ``diagnostic`` may be answer_in_context, where questions without a
    span count 0 as published; they cannot move, which makes "did not move" cheaper. A metric without a row counts as undefined. Raises
    ValueError for another ``diagnostic``.
    """
    if diagnostic not in DIAGNOSTICS:
        raise ValueError(f"diagnostic must be one of {', '.join(DIAGNOSTICS)}, got {diagnostic!r}")
    free = table[table["reader"] == "none"].set_index([*PANEL, "metric"])
    read = table[(table["reader"] == reader) & (table["metric"] == "f1")].set_index(PANEL)
    panels = list(dict.fromkeys(read.index)) or list(dict.fromkeys(i[:-1] for i in free.index))
    rows = []
    for panel in panels:
        cells = {m: free.loc[(*panel, m)] if (*panel, m) in free.index else UNDEFINED for m in ("gold_coverage", diagnostic, "coverage_minus_answer")}
        for f1 in [r for _, r in read.loc[[panel]].iterrows()] if panel in read.index else [None]:
            answered = "not read" if f1 is None else f1["verdict"]
            name = _name(cells["gold_coverage"], cells[diagnostic], f1)
            rows.append((*panel, None if f1 is None else f1["precision"], cells["gold_coverage"]["verdict"], cells[diagnostic]["verdict"], answered, name,
                         _said(panel, cells, diagnostic, f1, name)))
    return pd.DataFrame(rows, columns=[*PANEL, "precision", "coverage", "answer", "f1", "pattern", "said"])


def _name(coverage: pd.Series, answer: pd.Series, f1: pd.Series | None) -> str:
    cover, found, read = coverage["verdict"], answer["verdict"], "not read" if f1 is None else f1["verdict"]
    if "undefined" in (cover, found):
        return "no gold" if cover == "undefined" else "no span"
    if not cover.startswith("moved"):
        return "no move" if cover in SAME else "coverage undecided"
    if found.startswith("moved"):
        return "opposed" if found != cover else "against both" if read.startswith("moved") and read != found else "together"
    if found not in SAME:
        return "inconclusive"
    return "dissociation" if read in SAME else "against the diagnostic" if read.startswith("moved") else "dissociation, F1 undecided"


def _said(panel: tuple, cells: dict, diagnostic: str, f1: pd.Series | None, name: str) -> str:
    """The verdicts with their numbers, then what they mean together."""
    dataset, _, _, _, treatment, control = panel
    names = [wording.NAMES.get(p, p) for p in (treatment, control)]
    parts = [f"coverage {_told(cells['gold_coverage'])}", f"answer-in-context {_told(cells[diagnostic])}", f"F1 {_told(f1)}"]
    apart, more = cells["coverage_minus_answer"], ""
    if name == "inconclusive" and apart["verdict"].startswith(("moved", "slightly")):
        more = f" The two did part on the same questions: coverage less answer-in-context changed by {_points(apart)}."
    if name == "opposed" and f1 is not None and f1["verdict"].startswith("moved"):
        more = f" F1 went with {'coverage' if f1['verdict'] == cells['gold_coverage']['verdict'] else 'answer-in-context'}."
    return f"On {wording.named(dataset)}, {names[0]} against {names[1]}: {', '.join(parts)}. {MEANING[name]}{more}"


def _told(row: pd.Series | None) -> str:
    if row is None or row["verdict"] == "undefined":
        return SAID["not read" if row is None else "undefined"]
    return SAID[row["verdict"]] + ("" if pd.isna(row["ci_low"]) else f" ({_points(row)})")


def _points(row: pd.Series) -> str:
    return f"{wording.points(row['delta'])} [{100 * row['ci_low']:+.1f}, {100 * row['ci_high']:+.1f}]"
