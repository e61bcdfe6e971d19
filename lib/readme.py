"""What README says of results, built from the tables.

usage: python -m lib.readme          writes the finding on the first screen and the numbers further down, each between its two marks
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from lib import tables, wording, wording_stages
from lib.tables import ROOT, write_atomically

READER, BUDGET, KEPT = "qwen2.5-coder-0.5b", 160, "answer_in_context_defined"
ARMS = {"naive": "naive", "focused": "focused", "submod": "submod", "tuned": "`tuned`", "best_possible": "at most"}


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
    said = [f"{wording.NAMES[p]} keeps {_hundred(of.loc[p, 'estimate'])}" for p in ("naive", "submod", "focused")]
    learned, tokens = of.loc["tuned"], _tokens(rows, whole)
    of_sets = " and ".join(filter(None, [", ".join(sets[:-1]), sets[-1]]))
    return (f"On {learned.n:,} questions of {of_sets}, with room for {BUDGET} tokens of evidence, of 100 answers {', '.join(said)}, and a packer "
            f"that learned from training questions where answers stand (`tuned`) keeps {_hundred(learned.estimate)} "
            f"({_gap(learned, '')} points against submodular packing, with {abs(tokens):.1f} "
            f"{'fewer' if tokens < 0 else 'more'} tokens a question). No choice of snippets from the five retrieved passages keeps more than "
            f"{_hundred(of.loc['best_possible', 'estimate'])}.")


def _tokens(rows: pd.DataFrame, dataset: str) -> float:
    """Mean tokens of the learned packer less submodular packing's, over all questions of ``dataset``."""
    return rows[(rows["dataset"] == dataset) & (rows["measure"] == "n_tokens") & (rows["policy"] == "tuned")]["delta"].iloc[0]


def follows(tier: str = "real") -> str:
    """Whether F1 follows the learned packer's lead over submodular packing, rung by rung of the reader ladder; empty where that was not read."""
    table = tables.read("ladder", tier)
    edges = table[(table["kind"] == "contrast") & (table["quantity"] == "f1") & (table["policy"] == "tuned") & (table["control"] == "submod")]
    if edges.empty:
        return ""
    clear, corrected = int((edges["ci_low"] > 0).sum()), int(((edges["p_holm"] < 0.05) & (edges["estimate"] > 0)).sum())
    said = [f"{r.reader} {r.precision} {_gap(r._asdict(), '')}" for r in edges.sort_values(["billions", "precision"]).itertuples()]
    sets = ", ".join(wording.named(d) for d in edges["dataset"].unique())
    whole = tables.read("policy_contrasts", tier)
    whole = whole[(whole["dataset"] == "all") & (whole["metric"] == "f1") & (whole["budget"] == BUDGET)]
    whole = whole[(whole["treatment"] == "tuned") & (whole["control"] == "submod")]
    beside = "".join(f" All {r.n} questions read by {r.reader}, mostly of other sets: {_gap(r._asdict(), '')}." for r in whole.itertuples())
    return (f"Does F1 follow? On {clear} of {len(edges)} readers its interval is above 0 ({corrected} after Holm's correction), "
            f"{edges['n'].max()} questions of {sets}, `tuned` - submod in points: {'; '.join(said)}.{beside}")


def explains(tier: str) -> list[str]:
    """Lines of a table: per cent of the variance of F1 over span questions that goes with recall@5, what answer-in-context adds, what chance would add at
    most, and what it adds beside recall and the same reader's answers without a context (which no packer can have changed)."""
    rows = tables.read("validity", tier)
    rows = rows[(rows["pooling"] == "policies") & (rows["rows"] == "defined") & (rows["outcome"] == "f1") & (rows["dataset"] != "all")]
    rows = rows.dropna(subset=["estimate"])
    if tier == "sample":
        rows = rows[rows["reader"] == READER]
    out = []
    for dataset, part in rows.groupby("dataset", sort=False):
        q = part.drop_duplicates("quantity").set_index("quantity")
        cells = [q.loc["r2_recall", "estimate"], q.loc["delta_r2", "estimate"], q.loc["delta_r2", "null_high"],
                 q["estimate"].get("delta_r2_closed_book", float("nan"))]
        told = " | ".join("" if pd.isna(c) else f"{100 * c:.1f}" for c in cells)
        out.append(f"| {wording.named(dataset)} ({q['clusters'].iloc[0]}), {q['reader'].iloc[0]} | {told} |")
    return out


def lines(tier: str) -> list[str]:
    """The table's lines, one a data set: answers kept of a hundred by each packer, and two differences with their intervals."""
    rows, out = contest(tier), []
    for dataset, part in rows[rows["measure"] == KEPT].groupby("dataset", sort=False):
        if dataset == "all":
            continue
        of = part.set_index("policy")
        levels = " | ".join(_hundred(of.loc[p, "estimate"]) for p in ARMS)
        out.append(f"| {wording.named(dataset)} ({of.loc['tuned', 'n']}) | {levels} | {_gap(of.loc['tuned'])} | {_gap(of.loc['focused'])} |")
    return out


def there() -> list[str]:
    """The tiers whose results are at hand, the real one last."""
    return [t for t in ("sample", "real") if tables.TABLES["packer_contest"].path(t).exists()]


def loses() -> str:
    """Where the learned packer keeps fewer answers than submodular packing in generated worlds, after Holm; empty where it does not, or none was packed."""
    rows = tables.read("dials", "sample")
    rows = rows[(rows["treatment"] == "tuned") & (rows["control"] == "submod") & (rows["measure"] == KEPT) & (rows["value"] != "trend")]
    rows = rows[(rows["ci_high"] < 0) & (rows["p_holm"].isna() | (rows["p_holm"] < 0.05))].drop_duplicates(["dial", "value"])
    told = []
    for dial, part in rows.groupby("dial", sort=False):
        told.append(f"{dial} " + ", ".join(f"{r.value} ({_gap(r._asdict(), '')})" for r in part.itertuples()))
    where = "; ".join(told)
    return f"The learned packer can lose: in generated worlds it keeps fewer answers than submodular packing at {where} (points, notebook 05)." if told else ""


def finding() -> str:
    """The first screen: what the packers keep, whether F1 follows, where answers are lost, the data sets side by side."""
    tiers = there()
    more = [f"> {follows()}"] if "real" in tiers and follows() else []
    head = [f"| answers kept of 100 (n) | {' | '.join(ARMS.values())} | `tuned` - submod | focused - submod |", f"|---|{'--:|' * len(ARMS)}---|---|"]
    return "\n".join([f"> **{kept(tiers[-1])}**", *more, f"> {lost()}", "", *head, *(line for t in tiers[::-1] for line in lines(t)), "",
                      f"*Span questions, {BUDGET} tokens; differences in points, 95 % intervals, bold where they exclude 0.*"])


def more() -> str:
    """Further down: what goes with F1 beside recall, chance and memory; how the register of published figures stands."""
    tiers = there()
    out = ["| questions (n), reader | recall@5 | answer-in-context adds | chance, at most | adds beside closed book |", "|---|--:|--:|--:|--:|",
           *(line for t in tiers[::-1] for line in explains(t)), "",
           "*Per cent of the variance of F1 over questions whose answer is a span. The last column asks what is left beside the same reader's answers "
           "without a context: a small reader on public questions answers much from memory or by guessing, and easy questions keep their answers more often.*"]
    out += ["", loses()] if loses() else []
    if tables.TABLES["claims"].path("real").exists():
        known = tables.read("claims", "real")
        free = known["reader_needed"].isna()
        out += ["", f"The preprint's figures beside ours on public questions: of those that need no reader {_counted(known[free])}; of those read by its "
                f"models of 3B to 14B, beside our 135M, {_counted(known[~free])}."]
    return "\n".join(out)


def _counted(known: pd.DataFrame) -> str:
    verdicts = known["verdict"].value_counts()
    return ", ".join(f"{verdicts[v]} {said}" for v, said in (("reproduced", "reproduced"), ("differs", "differ"), ("inconclusive", "inconclusive"),
                                                             ("not run", "not run")) if v in verdicts)


def _hundred(share: float) -> str:
    return f"{100 * share:.0f}"


def _gap(row: Mapping, mark: str = "**") -> str:
    """A difference in points with its interval, marked where that excludes 0; nothing where it is undefined."""
    delta, low, high = (next(row[k] for k in names if k in row) for names in (("delta", "estimate"), ("delta_low", "ci_low"), ("delta_high", "ci_high")))
    if pd.isna(delta):
        return ""
    mark = mark if low > 0 or high < 0 else ""
    return f"{mark}{100 * delta:+.1f}{mark} [{100 * low:+.1f}, {100 * high:+.1f}]"


def marked(name: str) -> re.Pattern:
    """What stands between README's two marks of that name."""
    return re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)", re.S)


def write(path: Path = ROOT / "README.md") -> None:
    text = path.read_text(encoding="utf-8")
    for name, said in (("finding", finding()), ("more", more())):
        text = marked(name).sub(lambda m, said=said: m[1] + said + m[2], text)
    write_atomically(path, lambda p: Path(p).write_text(text, encoding="utf-8"))


if __name__ == "__main__":
    write()
