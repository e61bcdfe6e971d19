"""The finding on README's first screen, built from the tables.

usage: python -m lib.readme          writes it between its two marks
"""
from __future__ import annotations

import re
from pathlib import Path

from lib import claims, tables, wording, wording_stages
from lib.tables import ROOT, write_atomically

MARKS = re.compile(r"(<!-- finding -->\n).*?(\n<!-- /finding -->)", re.S)
READER = "qwen2.5-coder-0.5b"


def lost() -> str:
    """Where a hundred span questions of the sample end, and what answer-in-context separates."""
    waterfall, conditional = tables.read_all("sample", "waterfall", "conditional")
    return f"**{wording_stages.loss_answer(waterfall, conditional, READER)}**"


def versus(tier: str, control: str, metric: str = "answer_in_context_defined") -> str:
    """Submodular packing against another packer at 160 tokens, a clause a data set."""
    rows = tables.read("contrasts", tier)
    rows = rows[(rows["treatment"] == "submod") & (rows["control"] == control) & (rows["metric"] == metric) & (rows["half"] == "all") & (rows["budget"] == 160)]
    rows = rows[rows["pack_id"] == claims.plan()["published_arm"]["pack_id"]].drop_duplicates("dataset")
    clauses = [f"{wording.DATASETS.get(r.dataset, r.dataset)} {wording.points(r.delta)} [{100 * r.ci_low:+.1f}, {100 * r.ci_high:+.1f}] ({wording.verdict(r.ci_low, r.ci_high).removeprefix('is ')}, n = {r.n})"
               for r in rows.itertuples()]
    return "; ".join(clauses)


def adds(tier: str) -> str:
    """What recall@5 explains of F1 and what answer-in-context adds beyond what chance would, over questions with a span, a clause a data set."""
    rows = tables.read("validity", tier)
    rows = rows[(rows["pooling"] == "policies") & (rows["rows"] == "defined") & (rows["outcome"] == "f1") & (rows["dataset"] != "all")].dropna(subset=["estimate"])
    if tier == "sample":
        rows = rows[rows["reader"] == READER]
    clauses = []
    for dataset, part in rows.groupby("dataset", sort=False):
        q = part.drop_duplicates("quantity").set_index("quantity")
        told = "" if q.loc["delta_r2", "p_value"] < 0.05 else ", no more than chance"
        clauses.append(f"{wording.named(dataset)} {100 * q.loc['r2_recall', 'estimate']:.0f} + {100 * q.loc['delta_r2', 'estimate']:.0f} "
                       f"(chance: up to {100 * q.loc['delta_r2', 'null_high']:.0f}{told})")
    return "; ".join(clauses)


def learned(tier: str) -> str:
    """The learned packer against submodular packing at 160 tokens, over all questions of a tier: answers kept and tokens."""
    rows = tables.read("packer_contest", tier)
    rows = rows[(rows["policy"] == "tuned") & (rows["budget"] == 160)]
    whole = "all" if (rows["dataset"] == "all").any() else rows["dataset"].iloc[0]
    kept, tokens = (rows[(rows["dataset"] == whole) & (rows["measure"] == m)].iloc[0] for m in ("answer_in_context_defined", "n_tokens"))
    return (f"{wording.points(kept.delta)} [{100 * kept.delta_low:+.1f}, {100 * kept.delta_high:+.1f}] (n = {kept.n}), with {abs(tokens.delta):.1f} "
            f"{'fewer' if tokens.delta < 0 else 'more'} tokens")


def finding() -> str:
    """What survives, where answers are lost, whether the packer matters, and how the register of published figures stands."""
    there = [t for t in ("sample", "real") if tables.TABLES["validity"].path(t).exists()]
    parts = [lost(), f"More than recall? Per cent of the variance of F1 that recall@5 explains + what answer-in-context adds: {'; '.join(map(adds, there))}"
             + (" (real questions: a reader of 135M)." if len(there) > 1 else "."),
             f"Answers kept at 160 tokens, submodular - naive packing: {versus('sample', 'naive')}."]
    if tables.TABLES["contrasts"].path("real").exists():
        parts.append(f"On public questions: {versus('real', 'naive')}.")
        parts.append(f"Against the simple focused heuristic, submodular packing: {versus('real', 'focused')}.")
    if tables.TABLES["packer_contest"].path("real").exists():
        parts.append(f"A packer that learned on training questions where answers stand, against submodular packing, all public questions: {learned('real')}.")
    if tables.TABLES["claims"].path("real").exists():
        verdicts = tables.read("claims", "real")["verdict"].value_counts()
        counted = ", ".join(f"{verdicts.get(v, 0)} {said}" for v, said in (("reproduced", "reproduced"), ("differs", "differ"), ("inconclusive", "inconclusive"),
                                                                             ("not run", "not run")))
        parts.append(f"The preprint's figures (document 000, below) beside ours, tier real, a smaller reader: {counted}.")
    return "> " + "\n> ".join(parts)


def write(path: Path = ROOT / "README.md") -> None:
    text = MARKS.sub(lambda m: m[1] + finding() + m[2], path.read_text(encoding="utf-8"))
    write_atomically(path, lambda p: Path(p).write_text(text, encoding="utf-8"))


if __name__ == "__main__":
    write()
