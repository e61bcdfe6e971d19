"""Sentences built from tables: a notebook's bold answer says what the numbers say, whichever way they fall."""
from __future__ import annotations

import re

NAMES = {"tuned": "the learned packer", "adagres": "AdaGReS", "selective": "Selective Context", "naive": "naive packing", "focused": "the focused heuristic", "mmr": "MMR", "submod": "submodular packing", "topk": "top-k documents",
         "random": "random packing", "gold": "gold passages only", "closed_book": "closed book", "oracle": "the per-question oracle"}
DATASETS = {"ondrell": "the sample corpus", "hotpotqa": "HotpotQA", "2wiki": "2WikiMultiHopQA", "musique": "MuSiQue", "policy": "the policy corpus",
            "2wiki-corpus": "the 2Wiki corpus", "world": "the generated world", "simulated": "the simulated world"}

PUBLISHED = ("naive", "focused", "mmr", "submod")  # document 000's packers


def compared(policies) -> list[str]:
    """The published packers among ``policies``; where there is none the other packers, where there are none of these the gold arm.

    >>> compared(["submod", "naive", "gold"]), compared(["gold", "topk"])
    (['naive', 'submod'], ['topk'])
    """
    rest = [p for p in policies if p not in ("gold", "closed_book", "oracle", *PUBLISHED)]
    found = [p for p in PUBLISHED if p in policies] or rest or [p for p in policies if p == "gold"]
    if not found:
        raise ValueError(f"policies must name at least one packing rule, got {list(policies)}")
    return found


def lead(policies) -> str:
    """The packer that stands for all where one is shown: submod where it was run, else the first compared."""
    found = compared(policies)
    return "submod" if "submod" in found else found[0]


def named(dataset: str) -> str:
    """A data set as sentences call it.

    >>> named("musique"), named("world_h2_s50")
    ('MuSiQue', 'the generated world (2 hops, surfacing 50 %)')
    """
    world = re.fullmatch(r"world_h(\d)_s([\d.]+)(?:_r([\d.]+))?(?:_(early|middle|late))?(?:_p([\d.]+))?", dataset)
    if not world:
        return DATASETS.get(dataset, dataset)
    hops, surfacing, redundancy, place, paraphrase = world.groups()
    told = [f"{hops} hops", f"surfacing {surfacing} %", redundancy and f"redundancy {redundancy} %", place and f"answers {place}", paraphrase and f"paraphrase {paraphrase} %"]
    return f"the generated world ({', '.join(filter(None, told))})"


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


def survival_answer(table, budget: int, versus=None) -> str:
    """What survives at ``budget``, from the packing table (half all), a sentence a data set: shares with their intervals, and with ``versus``
    (``summaries.survival_contrasts``) the paired difference of submodular and naive packing."""
    out = []
    for dataset, rows in table.groupby("dataset"):
        kept = rows[rows["measure"] == "answer_in_context_defined"].dropna(subset=["estimate"]).set_index("policy")
        pool = rows[(rows["measure"] == "answer_in_pool") & (rows["policy"] != "gold")].dropna(subset=["estimate"])
        if kept.empty or pool.empty:
            out.append(f"On {named(dataset)} no question has an answer whose survival is defined.")
        elif not pool["estimate"].iloc[0]:
            out.append(f"On {named(dataset)} no answer was retrieved, so none could survive.")
        else:
            out.append(_survived(named(dataset), kept, pool.iloc[0], budget) + _paired(versus, dataset, budget))
    return " ".join(out)


def _survived(dataset: str, kept, pool, budget: int) -> str:
    shown, share = compared(list(kept.index)), kept["estimate"]
    best, first = share[shown].idxmax(), [p for p in ("submod", "naive") if p in shown] or shown[:1]
    said = " and ".join(f"{_share(kept.loc[p])}{' of the questions still have it ' if p == first[0] else ' '}after {NAMES[p]}"
                        + (f" into {budget} tokens" if p == first[0] else "") + f" ({percent(share[p] / pool['estimate'])} of those retrieved)" for p in first)
    ahead = f" (most after {NAMES[best]}, {_share(kept.loc[best])})" if share[best] > share[first].max() else ""
    counted = f"{int(kept['n'].max()):,} span questions" if "n" in kept else "span questions"
    return f"On {dataset} ({counted}) the answer was retrieved for {_share(pool)}; {said}{ahead}."


def _share(row) -> str:
    """46 % [39, 53], without the interval where the table has none."""
    known = "ci_low" in row and row["ci_low"] == row["ci_low"]
    return percent(row["estimate"]) + (f" [{100 * row['ci_low']:.0f}, {100 * row['ci_high']:.0f}]" if known else "")


def _paired(versus, dataset: str, budget: int) -> str:
    """The paired difference of submodular and naive packing as a sentence; empty where it was not tested."""
    if versus is None:
        return ""
    rows = versus[(versus["dataset"] == dataset) & (versus["budget"] == budget) & (versus["half"] == "all") & (versus["metric"] == "answer_in_context_defined")
                  & (versus["treatment"] == "submod") & (versus["control"] == "naive")].dropna(subset=["ci_low"])
    if rows.empty:
        return ""
    row = rows.iloc[0]
    said = {"wins": "is ahead", "loses": "is behind", "is undecided": "cannot be told from it"}[verdict(row["ci_low"], row["ci_high"])]
    interval = f"[{100 * row['ci_low']:+.1f}, {100 * row['ci_high']:+.1f}]"
    return f" Question by question submodular packing is {points(row['delta'])} {interval} from naive packing and {said}."


SEEN = {"closed_book": "closed book", "naive": "on naively packed contexts", "submod": "on submodularly packed ones", "gold": "when only gold passages are packed"}


def reading_answer(table, reader: str) -> str:
    """Closed book, naive, submodular, gold (those that were read): mean F1 of one reader, a sentence a data set."""
    out = []
    for dataset, rows in table[(table["reader"] == reader.split("/")[-1]) & (table["measure"] == "f1")].groupby("dataset"):
        f1 = rows.set_index("policy")["estimate"]
        first = [p for p in ("naive", "submod") if p in f1] or compared(list(f1.index))[:1]
        said = [f"{f1[p]:.2f} {SEEN.get(p, f'on contexts of {NAMES.get(p, p)}')}" for p in dict.fromkeys(["closed_book", *first, "gold"]) if p in f1]
        out.append(f"On {named(dataset)} {reader} scores F1 {', '.join(said[:-1])}, and {said[-1]}.")
    return " ".join(out)


def retrieval_answer(table, between=None) -> str:
    """all_gold_at_5 of the dense list in the scopes that were ranked, with intervals, a sentence a data set; with ``between``
    (``summaries.scope_contrasts``) also the paired difference of the scopes."""
    searched = {"own": "it searches the question's own paragraphs", "pooled": "it searches all passages"}
    out = []
    for dataset, rows in table[table["ranker"] == "dense"].groupby("dataset"):
        found = rows.dropna(subset=["estimate"]).set_index("scope")
        said = [f"for {_share(found.loc[s])}{f' of {found.n.iloc[0]:.0f} questions' if s == found.index[0] else ''} when {searched[s]}" for s in found.index]
        told = between[(between["dataset"] == dataset) & (between["ranker"] == "dense")].dropna(subset=["ci_low"]) if between is not None else rows[:0]
        apart = "".join(f" (difference {points(r['delta'])} [{100 * r['ci_low']:+.1f}, {100 * r['ci_high']:+.1f}], question by question)"
                        for _, r in told.iterrows())
        out.append(f"On {named(dataset)} a dense top 5 holds every gold passage {', and '.join(said)}{apart}." if said else
                   f"On {named(dataset)} no question has gold passages: what was retrieved cannot be scored.")
    return " ".join(out)
