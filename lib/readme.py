"""The finding on README's first screen, built from the tables.

usage: python -m lib.readme          writes it between its two marks
"""
from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from lib import tables, wording, wording_stages
from lib.tables import ROOT, write_atomically

MARKS = re.compile(r"(<!-- finding -->\n).*?(\n<!-- /finding -->)", re.S)
READER, BUDGET, KEPT = "qwen2.5-coder-0.5b", 160, "answer_in_context_defined"
ARMS = {"naive": "naive", "focused": "focused", "submod": "submod", "tuned": "learned", "best_possible": "at most"}


def lost() -> str:
    """Where a hundred span questions of the sample end, and what answer-in-context separates."""
    waterfall, conditional = tables.read_all("sample", "waterfall", "conditional")
    return wording_stages.loss_answer(waterfall, conditional, READER)


def contest(tier: str) -> pd.DataFrame:
    """The packers of ``ARMS`` at the reading budget over all parts of the questions: a row for each data set, policy and measure."""
    rows = tables.read("packer_contest", tier)
    return rows[(rows["budget"] == BUDGET) & (rows["part"] == "all") & rows["policy"].isin(list(ARMS))]


def kept(tier: str) -> str:
    """What the packers keep of a hundred answers over a whole tier, in a sentence: who keeps how much, the learned packer's gain, the most there is to keep."""
    rows = contest(tier)
    sets = [wording.named(d) for d in rows["dataset"].unique() if d != "all"]
    whole = "all" if (rows["dataset"] == "all").any() else rows["dataset"].iloc[0]
    of = rows[(rows["dataset"] == whole) & (rows["measure"] == KEPT)].set_index("policy")
    tokens = rows[(rows["dataset"] == whole) & (rows["measure"] == "n_tokens") & (rows["policy"] == "tuned")]["delta"].iloc[0]
    said = [f"{wording.NAMES[p]} keeps {_hundred(of.loc[p, 'estimate'])}" for p in ("naive", "submod", "focused")]
    learned = of.loc["tuned"]
    return (f"On {learned.n:,} questions of {' and '.join(filter(None, [', '.join(sets[:-1]), sets[-1]]))}, with room for {BUDGET} tokens of evidence, of 100 answers {', '.join(said)}, and a packer "
            f"that learned from training questions where answers stand keeps {_hundred(learned.estimate)} ({_gap(learned, '')} points against submodular packing, with {abs(tokens):.1f} "
            f"{'fewer' if tokens < 0 else 'more'} tokens). No choice of snippets keeps more than {_hundred(of.loc['best_possible', 'estimate'])}.")


def explains(tier: str) -> dict[str, str]:
    """Data set -> per cent of the variance of F1 that recall@5 explains + what answer-in-context adds (and what chance would), over questions with a span."""
    rows = tables.read("validity", tier)
    rows = rows[(rows["pooling"] == "policies") & (rows["rows"] == "defined") & (rows["outcome"] == "f1") & (rows["dataset"] != "all")].dropna(subset=["estimate"])
    if tier == "sample":
        rows = rows[rows["reader"] == READER]
    told = {}
    for dataset, part in rows.groupby("dataset", sort=False):
        q = part.drop_duplicates("quantity").set_index("quantity")
        told[dataset] = f"{100 * q.loc['r2_recall', 'estimate']:.0f} + {100 * q.loc['delta_r2', 'estimate']:.0f} (chance: {100 * q.loc['delta_r2', 'null_high']:.0f})"
    return told


def lines(tier: str) -> list[str]:
    """The table's lines, one a data set: answers kept of a hundred by each packer, two differences with their intervals, the variance explained."""
    rows, r2 = contest(tier), explains(tier)
    out = []
    for dataset, part in rows[rows["measure"] == KEPT].groupby("dataset", sort=False):
        if dataset == "all":
            continue
        of = part.set_index("policy")
        levels = " | ".join(_hundred(of.loc[p, "estimate"]) for p in ARMS)
        out.append(f"| {wording.named(dataset)} ({of.loc['tuned', 'n']}) | {levels} | {_gap(of.loc['tuned'])} | {_gap(of.loc['focused'])} | {r2.get(dataset, '')} |")
    return out


def finding() -> str:
    """What the packers keep, where answers are lost, the data sets side by side, and how the register of published figures stands."""
    there = [t for t in ("sample", "real") if tables.TABLES["packer_contest"].path(t).exists()]
    head = [f"| questions (n) | {' | '.join(ARMS.values())} | learned - submod | focused - submod | recall + answer-in-context |", f"|---|{'--:|' * len(ARMS)}---|---|---|"]
    parts = [f"> **{kept(there[-1])}**", f"> {lost()}", "", "Answers kept of 100, and what explains F1:", "", *head, *(line for t in there[::-1] for line in lines(t)), "",
             f"*Questions whose answer is a span of text, {BUDGET} tokens; differences in points with 95 % intervals, bold where they exclude 0. Last column: per cent of the variance of F1 that recall@5 "
             f"explains + what answer-in-context adds beyond it (up to how much chance would){'; on real questions by a reader of 135M parameters' if 'real' in there else ''}.*"]
    if tables.TABLES["claims"].path("real").exists():
        verdicts = tables.read("claims", "real")["verdict"].value_counts()
        counted = ", ".join(f"{verdicts.get(v, 0)} {said}" for v, said in (("reproduced", "reproduced"), ("differs", "differ"), ("inconclusive", "inconclusive"), ("not run", "not run")))
        parts += ["", f"The preprint's figures (document 000, below) beside ours on real questions, with a smaller reader: {counted}."]
    return "\n".join(parts)


def _hundred(share: float) -> str:
    return f"{100 * share:.0f}"


def _gap(row: pd.Series, mark: str = "**") -> str:
    """A difference in points with its interval, marked where that excludes 0; nothing where it is undefined."""
    if pd.isna(row["delta"]):
        return ""
    mark = mark if row["delta_low"] > 0 or row["delta_high"] < 0 else ""
    return f"{mark}{100 * row['delta']:+.1f}{mark} [{100 * row['delta_low']:+.1f}, {100 * row['delta_high']:+.1f}]"


def write(path: Path = ROOT / "README.md") -> None:
    text = MARKS.sub(lambda m: m[1] + finding() + m[2], path.read_text(encoding="utf-8"))
    write_atomically(path, lambda p: Path(p).write_text(text, encoding="utf-8"))


if __name__ == "__main__":
    write()
