"""The finding on README's first screen, built from the sample tier's tables.

usage: python -m lib.readme          writes it between its two marks
"""
from __future__ import annotations

import re
from pathlib import Path

from lib import claims, tables, wording
from lib.tables import ROOT, write_atomically

MARKS = re.compile(r"(<!-- finding -->\n).*?(\n<!-- /finding -->)", re.S)
READER = "qwen2.5-coder-0.5b"


def finding() -> str:
    """What survives, where answers are lost, and how the register of published figures stands."""
    packing, waterfall, conditional, register = tables.read_all("sample", "packing", "waterfall", "conditional", "claims")
    arm = claims.plan()["published_arm"]
    at_budget = packing[(packing["pack_id"] == arm["pack_id"]) & (packing["budget"] == arm["budget"]) & (packing["half"] == "all")]
    verdicts = register["verdict"].value_counts()
    counted = ", ".join(f"{verdicts.get(v, 0)} {v}" for v in ("reproduced", "differs", "inconclusive", "not run"))
    return (f"> {wording.survival_answer(at_budget, arm['budget'])} {wording.loss_answer(waterfall, conditional, READER)}\n"
            f"> Of {len(register)} published figures this small corpus and reader stand beside: {counted}.")


def write(path: Path = ROOT / "README.md") -> None:
    text = MARKS.sub(lambda m: m[1] + finding() + m[2], path.read_text(encoding="utf-8"))
    write_atomically(path, lambda p: Path(p).write_text(text, encoding="utf-8"))


if __name__ == "__main__":
    write()
