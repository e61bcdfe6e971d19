"""Whose script was it? How many scores change when another data set's official scoring rule is used on the same answers (SPEC 6)."""
from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from lib.scoring import RULES, rule_for, score_answer

COLUMNS = ["tier", "dataset", "reader", "precision", "own_rule", "rule", "changed_em", "changed_f1", "mean_em", "mean_f1", "own_em", "own_f1", "n", "clusters"]
NAMED = {"hotpotqa": "HotpotQA", "2wiki": "2Wiki", "musique": "MuSiQue", "squad1": "SQuAD 1", "squad2": "SQuAD 2", "ondrell": "our corpus"}
SHOWN = "sample"  # the one tier whose text is ours to show
SAME = 1e-9       # scores nearer than this are one score


def scored(questions: pd.DataFrame, answers: pd.DataFrame, rules: Sequence[str] = RULES) -> pd.DataFrame:
    """Every answer whose text is at hand, scored by each of ``rules``: dataset, qid, reader, precision, prediction, golds, em_<rule>, f1_<rule>.

    HotpotQA's script knows one gold and is given the first. Answers of which only the scores were kept are left out. Raises ValueError for
    an unknown rule.

    >>> ask = pd.DataFrame({"dataset": ["hotpotqa"], "qid": ["q"], "answers": [["Yes, it is"]]})
    >>> said = ask[["dataset", "qid"]].assign(reader="r", precision="fp32", prediction="yes")
    >>> scored(ask, said, ["hotpotqa", "musique"])[["f1_hotpotqa", "f1_musique"]].iloc[0].tolist()
    [0.0, 0.5]
    """
    key = ["dataset", "qid"]
    told = answers.loc[answers["prediction"].notna(), [*key, "reader", "precision", "prediction"]]
    rows = told.merge(questions[[*key, "answers"]].rename(columns={"answers": "golds"}), on=key, validate="many_to_one").reset_index(drop=True)
    rows["golds"] = rows["golds"].map(list)
    for rule in rules:
        known: dict[tuple, tuple[float, float]] = {}  # a small model says the same words again and again
        pairs = [(text, *(golds[:1] if rule == "hotpotqa" else golds)) for text, golds in zip(rows["prediction"], rows["golds"])]
        for pair in pairs:
            if pair not in known:
                known[pair] = score_answer(pair[0], pair[1:], rule)
        rows[[f"em_{rule}", f"f1_{rule}"]] = pd.DataFrame([known[p] for p in pairs], columns=["em", "f1"], dtype=float)
    return rows


def scoring_rules(questions: pd.DataFrame, answers: pd.DataFrame, tier: str) -> pd.DataFrame:
    """Table ``scoring_rules``: per data set, reader and precision, a row a foreign rule: answers whose EM or F1 changes, and both means.

    ``n`` counts the answers with their text at hand, one a prompt; of public data only scores are committed, so there it may be 0 and the
    means are missing. Raises ValueError for a data set without a rule.
    """
    rows, texts = [], scored(questions, answers)
    for (dataset, reader, precision), _ in answers.groupby(["dataset", "reader", "precision"]):
        own = rule_for(dataset)
        here = texts[(texts["dataset"] == dataset) & (texts["reader"] == reader) & (texts["precision"] == precision)]
        for rule in (r for r in RULES if r != own):
            changed = [int(((here[f"{m}_{own}"] - here[f"{m}_{rule}"]).abs() > SAME).sum()) for m in ("em", "f1")]
            means = [here[f"{m}_{r}"].mean() for r in (rule, own) for m in ("em", "f1")]
            rows.append((tier, dataset, reader, precision, own, rule, *changed, *means, len(here), here["qid"].nunique()))
    return pd.DataFrame(rows, columns=COLUMNS)


def examples(questions: pd.DataFrame, answers: pd.DataFrame, tier: str, rule: str = "hotpotqa", n: int = 3) -> pd.DataFrame:
    """Up to ``n`` answers of different words whose F1 ``rule`` changes most: dataset, prediction, gold, F1 by the own and by that rule.

    Text is shown of the sample corpus only: of another tier, or another data set, no row comes back. Raises ValueError for an unknown rule.
    """
    if rule not in RULES:
        raise ValueError(f"unknown scoring rule {rule!r}: expected one of {RULES}")
    ours = answers[answers["dataset"].str.startswith("ondrell")] if tier == SHOWN else answers.iloc[:0]
    rows = scored(questions, ours)
    own = [rule_for(d) for d in rows["dataset"]]
    rows = rows.assign(gold=[" | ".join(g) for g in rows["golds"]], f1_own=[rows.at[i, f"f1_{o}"] for i, o in enumerate(own)], f1_other=rows[f"f1_{rule}"])
    rows = rows.assign(moved=(rows["f1_own"] - rows["f1_other"]).abs())
    rows = rows[rows["moved"] > SAME].sort_values(["moved", "qid", "prediction"], ascending=[False, True, True])
    told = rows.drop_duplicates(["prediction", "gold"])[["dataset", "prediction", "gold", "f1_own", "f1_other"]].head(n)
    return told.rename(columns={"f1_own": "F1 by its own rule", "f1_other": f"F1 by {NAMED[rule]}'s"}).reset_index(drop=True)


def compact(table: pd.DataFrame) -> pd.DataFrame:
    """The table as a notebook shows it: a row a data set and reader, a column a foreign rule, "EM changed / F1 changed"; n beside them.

    >>> row = {"dataset": "d", "reader": "r", "precision": "fp32", "n": 9, "rule": "musique", "changed_em": 0, "changed_f1": 2}
    >>> compact(pd.DataFrame([row]))["MuSiQue"].tolist()
    ['0 / 2']
    """
    said = table.assign(said=table["changed_em"].astype(str) + " / " + table["changed_f1"].astype(str), rule=table["rule"].map(NAMED))
    said.loc[said["n"] == 0, "said"] = ""
    order = [NAMED[r] for r in RULES if NAMED[r] in set(said["rule"])]
    wide = said.pivot(index=["dataset", "reader", "precision", "n"], columns="rule", values="said")
    return wide[order].fillna("own rule").reset_index().rename_axis(columns=None)


def rules_answer(table: pd.DataFrame) -> str:
    """What the table says, in one sentence: the foreign rule that changes most scores of each data set."""
    out = []
    for dataset, rows in table.groupby("dataset"):
        n = int(rows.drop_duplicates(["reader", "precision"])["n"].sum())
        if not n:
            out.append(f"Of {dataset} no answer's text is at hand, so no other rule could be tried.")
            continue
        counts = rows.groupby("rule")[["changed_em", "changed_f1"]].sum().reindex([r for r in RULES if r in set(rows["rule"])])
        worst = counts.sum(axis=1).idxmax()
        em, f1 = (int(v) for v in counts.loc[worst])
        changes = f"{NAMED[worst]}'s script changes most: EM of {em}, F1 of {f1}." if em or f1 else "no other script changes a score."
        out.append(f"Of {n:,} answers to {dataset}, {changes}")
    return " ".join(out)
