"""Sentences built from tables: a notebook's bold answer says what the numbers say, whichever way they fall."""
from __future__ import annotations

NAMES = {"naive": "naive packing", "focused": "the focused heuristic", "mmr": "MMR", "submod": "submodular packing", "topk": "top-k documents",
         "random": "random packing", "gold": "gold passages only", "closed_book": "closed book", "oracle": "the per-question oracle"}
DATASETS = {"ondrell": "the sample corpus", "hotpotqa": "HotpotQA", "2wiki": "2WikiMultiHopQA", "musique": "MuSiQue"}


def percent(share: float) -> str:
    """A share as whole percent: 0.456 -> '46 %'."""
    return f"{100 * share:.0f} %"


def points(delta: float) -> str:
    """A difference of shares in percentage points with its sign."""
    return f"{100 * delta:+.1f} points"


def verdict(low: float, high: float) -> str:
    """'wins', 'loses' or 'is undecided', from the 95 % interval of treatment - control."""
    return "wins" if low > 0 else "loses" if high < 0 else "is undecided"


def contrast(row, metric: str) -> str:
    """One sentence on one row of the contrasts table."""
    against = f"{NAMES[row.treatment]} against {NAMES[row.control]}"
    return (f"{against} {verdict(row.ci_low, row.ci_high)} on {metric}: {points(row.delta)} "
            f"[{100 * row.ci_low:+.1f}, {100 * row.ci_high:+.1f}], n = {row.n}")


def survival_answer(table, budget: int) -> str:
    """What survives at ``budget``, from the packing table (half all), a sentence a data set."""
    out = []
    for dataset, rows in table.groupby("dataset"):
        kept = rows[rows["measure"] == "answer_in_context_defined"].set_index("policy")["estimate"]
        pool = rows[rows["measure"] == "answer_in_pool"]["estimate"].iloc[0]
        best = kept[["naive", "focused", "mmr", "submod"]].idxmax()
        out.append(f"On {DATASETS.get(dataset, dataset)} the answer was retrieved for {percent(pool)} of the span questions, and of those "
                   f"{percent(kept['submod'] / pool)} still have it after submodular packing into {budget} tokens, "
                   f"{percent(kept['naive'] / pool)} after naive packing" + (f" (best kept: {NAMES[best]}, {percent(kept[best] / pool)})."
                                                                             if kept[best] > max(kept["submod"], kept["naive"]) else "."))
    return " ".join(out)


def reading_answer(table, reader: str) -> str:
    """Closed book, naive, submodular, gold: mean F1 of one reader, a sentence a data set."""
    out = []
    for dataset, rows in table[(table["reader"] == reader.split("/")[-1]) & (table["measure"] == "f1")].groupby("dataset"):
        f1 = rows.set_index("policy")["estimate"]
        out.append(f"On {DATASETS.get(dataset, dataset)} {reader} scores F1 {f1['closed_book']:.2f} from memory, {f1['naive']:.2f} on naively packed contexts, "
                   f"{f1['submod']:.2f} on submodularly packed ones, and {f1['gold']:.2f} when only gold passages are packed.")
    return " ".join(out)


def losses(stages) -> dict[str, int]:
    """Points lost at each stage of one waterfall, as differences of the rounded shares, so that they add up to what is printed."""
    alive = (100 * stages.sort_values("order").set_index("stage")["share"]).round().astype(int)
    return (alive.shift(fill_value=100) - alive).to_dict() | {"right": int(alive.iloc[-1])}


def loss_answer(waterfall, conditional, reader: str) -> str:
    """Where the submodular arm loses its answers, and what answer-in-context separates, a sentence a data set."""
    out, short = [], reader.split("/")[-1]
    rows = waterfall[(waterfall["reader"] == short) & (waterfall["policy"] == "submod")]
    for dataset, part in rows.groupby("dataset"):
        gone = losses(part)
        split = conditional[(conditional["dataset"] == dataset) & (conditional["reader"] == short) & (conditional["measure"] == "f1")].set_index("holds")["estimate"]
        out.append(f"On {DATASETS.get(dataset, dataset)}, of 100 answers to span questions {gone['corpus']} never stand verbatim in the passages, {gone['pool']} are lost in retrieval, "
                   f"{gone['context']} in packing and {gone['read']} in reading; {gone['right']} come out exactly right. Mean F1 is {split[1]:.2f} where the answer stands "
                   f"in the context and {split[0]:.2f} where it does not.")
    return " ".join(out)


def partly_right(outcomes, reader: str) -> str:
    """How many answers that stood in the submodular context and were not given exactly are right in part."""
    rows = outcomes[(outcomes["reader"] == reader) & (outcomes["policy"] == "submod") & (outcomes["answer_in_context"] == 1) & (outcomes["em"] == 0)]
    rows = rows[rows["answer_defined"].astype(bool)]
    return f"lost in reading (submod): {len(rows)} answers, of which {int((rows['f1'] > 0).sum())} share some words with the gold one"


def retrieval_answer(table) -> str:
    """all_gold_at_5 of the dense list in both scopes, a sentence a data set."""
    out = []
    for dataset, rows in table[table["ranker"] == "dense"].groupby("dataset"):
        own, pooled = (rows[rows["scope"] == s].iloc[0] for s in ("own", "pooled"))
        out.append(f"On {DATASETS.get(dataset, dataset)} a dense top 5 holds every gold passage for {percent(own['estimate'])} of {own['n']:.0f} questions when it "
                   f"searches the question's own paragraphs, and for {percent(pooled['estimate'])} when it searches all passages.")
    return " ".join(out)
