"""The finding on README's first screen, built from the tables.

usage: python -m lib.readme          writes it between its two marks
"""
from __future__ import annotations

import re
from pathlib import Path

from lib import claims, tables, wording
from lib.tables import ROOT, write_atomically

MARKS = re.compile(r"(<!-- finding -->\n).*?(\n<!-- /finding -->)", re.S)
READER = "qwen2.5-coder-0.5b"


def lost() -> str:
    """Where a hundred span questions of the sample end, and what answer-in-context separates."""
    waterfall, conditional = tables.read_all("sample", "waterfall", "conditional")
    stage = waterfall[(waterfall["policy"] == "submod") & (waterfall["reader"] == READER)].set_index("stage")
    alive = stage.sort_values("order")["share"].mul(100).round().astype(int)  # losses are differences of the printed shares, so that they add up
    gone = (alive.shift(fill_value=100) - alive).to_dict()
    f1 = conditional[(conditional["reader"] == READER) & (conditional["measure"] == "f1")].set_index("holds")["estimate"]
    return (f"**Of 100 answers, {gone['corpus']} stand nowhere in so many words, {gone['pool']} are lost in retrieval, {gone['context']} in packing "
            f"(submodular, 160 tokens) and {gone['read']} in reading; {alive['read']} come out exactly right.** Mean F1 is {f1[1]:.2f} where the answer "
            f"stands in the packed context and {f1[0]:.2f} where it does not.")


def versus(tier: str, metric: str) -> str:
    """Submodular packing against naive, a clause a data set."""
    rows = tables.read("contrasts", tier)
    rows = rows[(rows["treatment"] == "submod") & (rows["control"] == "naive") & (rows["metric"] == metric) & (rows["half"] == "all") & (rows["budget"] == 160)]
    rows = rows[rows["pack_id"] == claims.plan()["published_arm"]["pack_id"]].drop_duplicates("dataset")
    clauses = [f"{wording.DATASETS.get(r.dataset, r.dataset)} {wording.points(r.delta)} [{100 * r.ci_low:+.1f}, {100 * r.ci_high:+.1f}] ({wording.verdict(r.ci_low, r.ci_high).removeprefix('is ')}, n = {r.n})"
               for r in rows.itertuples()]
    return "; ".join(clauses)


def finding() -> str:
    """What survives, where answers are lost, whether the packer matters, and how the register of published figures stands."""
    parts = [lost(), f"Answers kept by submodular against naive packing: {versus('sample', 'answer_in_context')}."]
    if tables.TABLES["contrasts"].path("real").exists():
        parts.append(f"On public questions: {versus('real', 'answer_in_context')}.")
    for tier in ("sample", "real"):
        if tables.TABLES["claims"].path(tier).exists():
            verdicts = tables.read("claims", tier)["verdict"].value_counts()
            counted = ", ".join(f"{verdicts.get(v, 0)} {v}" for v in ("reproduced", "differs", "inconclusive", "not run"))
            parts.append(f"Published figures beside ours, tier {tier}: {counted}.")
    return "> " + "\n> ".join(parts)


def write(path: Path = ROOT / "README.md") -> None:
    text = MARKS.sub(lambda m: m[1] + finding() + m[2], path.read_text(encoding="utf-8"))
    write_atomically(path, lambda p: Path(p).write_text(text, encoding="utf-8"))


if __name__ == "__main__":
    write()
