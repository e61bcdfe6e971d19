"""What the reader ladder says, in sentences built from its table (notebook 06)."""
from __future__ import annotations

import pandas as pd

from lib.chart_words import listed
from lib.power import questions_needed, spread
from lib.wording import named, points

SIDES = {"moved up": "ahead", "slightly up": "ahead", "moved down": "behind", "slightly down": "behind", "equivalent": "equivalent",
         "inconclusive": "undecided", "undefined": "undefined"}
PAIR = ("submod", "focused")
FORMS = {"words": "tokens an answer", "answer_precision": "precision", "answer_recall": "recall"}


def ladder_answer(table: pd.DataFrame) -> str:
    """The bold answer, a sentence a data set: on how many rungs submod is ahead of focused and of naive, what size did to that edge, and what NF4 cost."""
    out = []
    for dataset, part in table.groupby("dataset"):
        edges = [s for s in (edge(part, *PAIR), edge(part, "submod", "naive"), edge(part, "tuned", "submod")) if s]
        said = [*edges, *(s for s in (scale(part), quantisation(part)) if s)]
        n = int(part.loc[part["kind"] == "contrast", "n"].max()) if edges else 0
        out.append(f"On {named(dataset)} ({n} questions) {'; '.join(said)}." if edges else f"On {named(dataset)} submod was not read beside focused or naive.")
    return " ".join(out)


def edge(part: pd.DataFrame, policy: str, control: str) -> str:
    """On how many rungs ``policy`` is ahead of, behind, equivalent to, or not to be told from ``control`` on F1; empty where that was not read."""
    rows = part[(part["kind"] == "contrast") & (part["quantity"] == "f1") & (part["policy"] == policy) & (part["control"] == control)]
    if rows.empty:
        return ""
    found = rows["verdict"].map(SIDES)
    if len(rows) == 1:
        row = rows.iloc[0]
        return f"the one rung has {policy} − {control} at {points(row['estimate'])} of F1 {_interval(row)} ({found.iloc[0]})"
    if found.nunique() == 1:
        return f"{policy} against {control} is {found.iloc[0]} on {'both' if len(rows) == 2 else f'all {len(rows)}'} rungs (F1)"
    corrected = rows["p_holm"].astype(float)
    weak = int((found.isin(["ahead", "behind"]) & ~(corrected < 0.05)).sum())
    after = f", {weak} of these not after Holm's correction" if weak else ""
    counts = [f"{side} on {(found == side).sum()}" for side in ("ahead", "behind", "equivalent", "undecided") if (found == side).any()]
    return f"{policy} against {control} is {listed(counts)} of {len(rows)} rungs (F1{after})"


def scale(part: pd.DataFrame) -> str:
    """Whether the edge over focused changes with size: slope a doubling, absorption and reversal."""
    trend = part[(part["kind"] == "trend") & (part["policy"] == PAIR[0]) & (part["control"] == PAIR[1]) & (part["quantity"] == "f1")]
    claims = part[part["kind"] == "claim"].set_index("quantity")["verdict"]
    if trend.empty or claims.empty:
        return "one size was read, so nothing is said about scale" if (part["kind"] == "contrast").any() else ""
    row = trend.iloc[0]
    way = {"ahead": "grows with size", "behind": "shrinks with size", "equivalent": "does not change with size", "undecided": "may or may not change with size"}
    return (f"the edge over {PAIR[1]} {way.get(SIDES[row['verdict']], 'is undefined')} ({points(row['estimate'])} a doubling {_interval(row)}); "
            f"absorption: {claims['absorption']}, reversal: {claims['reversal']}")


def quantisation(part: pd.DataFrame) -> str:
    """What NF4 costs in mean F1 against the finest number format of the same model, and how many answers stay the same."""
    rows = part[(part["kind"] == "precision") & (part["precision"] == "nf4") & (part["policy"] == "pooled")]
    cost = rows[rows["quantity"] == "f1"]
    if cost.empty:
        return ""
    row = cost.sort_values("against", key=lambda c: c.str.split().str[-1].map({"fp32": 0, "fp16": 1, "bf16": 2})).iloc[0]
    same = rows[(rows["quantity"] == "same_answer") & (rows["against"] == row["against"]) & (rows["reader"] == row["reader"])]["estimate"]
    kept = f", {100 * same.iloc[0]:.0f} % of the answers are the same" if len(same) and same.notna().all() else ""
    side = {"ahead": "gains", "behind": "costs", "equivalent": "changes nothing beyond the margin in"}.get(SIDES.get(row["verdict"], ""))
    told = f"NF4 {side} F1 of {row['against']}: " if side else f"what NF4 does to the F1 of {row['against']} is undecided: "
    return f"{told}{points(row['estimate'])} {_interval(row)}{kept}"


def _interval(row: pd.Series) -> str:
    """The 95 % interval in percentage points."""
    return f"[{100 * row['ci_low']:+.1f}, {100 * row['ci_high']:+.1f}]"


def power(table: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """What these questions can show: for each rung's contrast on F1 its spread, the smallest difference they show, and how many the published ones would take.

    Columns: dataset, reader, precision, policy, control, sd, mde, published (the largest in size over document 000's rungs), needed (questions for it), n.
    """
    rows = table[(table["kind"] == "contrast") & (table["quantity"] == "f1")].copy()
    largest = published.loc[published["estimate"].abs().groupby([published["policy"], published["control"]]).idxmax()] if len(published) else published
    effect = {(r.policy, r.control): r.estimate for r in largest.itertuples()}
    rows["sd"] = spread(rows["mde"].astype(float), rows["n"].astype(float))
    rows["published"] = [effect.get((p, c), float("nan")) for p, c in zip(rows["policy"], rows["control"])]
    rows["needed"] = [questions_needed(s, e) if s > 0 and pd.notna(e) else float("nan") for s, e in zip(rows["sd"], rows["published"])]
    return rows[["dataset", "reader", "precision", "policy", "control", "sd", "mde", "published", "needed", "n"]].reset_index(drop=True)


def suspicion(table: pd.DataFrame) -> str:
    """Whether a larger reader of this run scores lower than a smaller one, as document 000's 7B and 14B do, and whether its answers' form goes with it."""
    rows = table[(table["kind"] == "scale") & (table["policy"] == "pooled") & table["quantity"].isin(["f1", "words", "answer_precision", "answer_recall"])]
    out = []
    for (dataset, reader, precision, against), part in rows.groupby(["dataset", "reader", "precision", "against"]):
        by = part.set_index("quantity")
        if "f1" not in by.index:
            continue
        f1 = by.loc["f1"]
        way = {"ahead": "higher", "behind": "lower"}.get(SIDES.get(f1["verdict"], ""), "not decided")
        shown = {q: name for q, name in FORMS.items() if q in by.index and pd.notna(by.loc[q, "estimate"])}
        form = [f"{name} {by.loc[q, 'estimate']:+.2f}" for q, name in shown.items()]
        out.append(f"On {named(dataset)} F1 of {reader} {precision} against {against} is {way} ({points(f1['estimate'])}; {', '.join(form)}).")
    return " ".join(out) or "One size was read: there is no larger reader to compare."


def partners_told(partners: pd.DataFrame) -> str:
    """What the verdicts on document 000's figures mean: judged on its own data set, or only set beside a stand-in corpus, where nothing can reproduce.

    ``partners``: the table ladder_partners. Of differences between packers also how many have the published sign; Markdown points.
    """
    judged = partners["verdict"].isin(["reproduced", "differs", "inconclusive"])
    stand_in = partners["note"].fillna("").str.contains("a stand-in for")
    out = []
    for said, rows in (("on the published data set", partners[judged & ~stand_in]), ("on a corpus that stands in for it", partners[judged & stand_in])):
        if len(rows):
            counts = rows["verdict"].value_counts()
            kinds = (("reproduced", "inside our interval"), ("differs", "outside"), ("inconclusive", "undecided"))
            told = listed([f"{counts[v]} {word}" for v, word in kinds if v in counts])
            warning = (". The questions and passages are others, so *differs* says that the corpora differ, not that a figure failed to reproduce"
                       if "stands in" in said else "")
            out.append(f"{len(rows)} figures that need no reader, or the reader that was run, stand beside ours {said}: {told}{warning}.")
    signs = partners[partners["claim"].str.contains("minus")].dropna(subset=["ours", "ci_low"])
    if len(signs):
        same = signs["ours"] * signs["published"] > 0
        clear = (signs["ci_low"] > 0) | (signs["ci_high"] < 0)
        out.append(f"Of {len(signs)} published differences between packers with a partner here, ours has the same sign for {int(same.sum())}, "
                   f"with an interval clear of 0 for {int((same & clear).sum())} of these; "
                   "other readers or questions read them, so sign and size are all that can be compared.")
    rest = {v: int((partners["verdict"] == v).sum()) for v in ("other reader", "not run")}
    if any(rest.values()):
        out.append(f"{rest['other reader']} figures need a reader that was not run and stand beside the nearest of our rungs, unjudged; "
                   f"{rest['not run']} have no partner.")
    return "\n".join(f"- {line}" for line in out)
