"""Why coverage and answers can part: where the answer's document is ranked, and what kind of gold a packer adds (document 000, section 3.4; SPEC 9).

000: "the answer-bearing document is usually the one the heuristic already ranks first, so the extra gold the packer adds is bridging evidence".
A gold passage is *answer-bearing* where an accepted answer stands verbatim in its text, else *bridging*.
"""
from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from lib import bootstrap, summaries, survival
from lib.bootstrap import divide, percentile_interval
from lib.intervention import PAIR

QUESTION = ["dataset", "qid"]
QUANTITIES = {
    "undefined": "questions without a span to look for (of all questions; every other quantity leaves them out)",
    "has_answer_document": "questions in which a gold passage holds the answer",
    "answer_ranked_first": "... of these: the retriever ranks such a passage first",
    "answer_first_pick": "... of these: the control's first pick is from such a passage",
    "answer_in_control": "... of these: the control packs some of such a passage",
    "answer_in_treatment": "... of these: the treatment does",
    "gold_added": "gold passages a question that the treatment packs and the control lacks",
    "added_bridging": "... of these passages: bridging",
    "open_bridging": "the same among all retrieved gold passages that the control lacks: what could be added",
    "gold_dropped": "gold passages a question that the control packs and the treatment lacks",
    "dropped_answer": "... of these passages: answer-bearing",
    "control_answer": "the same among all gold passages that the control packs: what could be dropped",
    "added_coverage_bridging": "added coverage (a passage of a question with k gold passages counts 1/k) that is bridging",
    "coverage_delta": "coverage, treatment - control",
    "coverage_delta_bridging": "... the part in bridging passages",
    "coverage_delta_answer": "... the part in answer-bearing passages; the two parts add up",
}
NO_SHARES = ("gold_added", "gold_dropped", "coverage_delta", "coverage_delta_bridging", "coverage_delta_answer")
COLUMNS = ["tier", "dataset", "pack_id", "budget", "half", "treatment", "control", "question_type", "quantity", "estimate", "ci_low", "ci_high", "n",
           "clusters"]


def mechanism(questions: pd.DataFrame, holders: pd.DataFrame, packs: pd.DataFrame, tier: str, pair: tuple[str, str] = PAIR, resamples: int = 10_000,
              seed: int = 0) -> pd.DataFrame:
    """The mechanism table: QUANTITIES for each data set, half and question type (and ``all``), with intervals over questions.

    ``packs`` of one pack_id and budget. Every quantity is a sum over a sum (n counts what is below: questions or passages), all from one draw
    a data set and half; what no question has is a row with n 0. No row where a data set was not packed by both. Raises ValueError for
    several packs or budgets.
    """
    arms = packs[["pack_id", "budget"]].drop_duplicates()
    if len(arms) > 1:
        raise ValueError(f"packs must be of one pack_id and one budget, got {len(arms)} such pairs; filter the table first")
    packed = packs.groupby("dataset")["policy"].agg(set)
    both = [d for d, found in packed.items() if set(pair) <= found]
    asked = questions[questions["dataset"].isin(both)]
    rows = []
    for half, part in summaries.halves(asked.merge(_sums(asked, holders, packs, pair), on=QUESTION, how="left")):
        for dataset, group in part.groupby("dataset"):
            for kind, quantity, found in _ratios(group, resamples, seed):
                rows.append((tier, dataset, *arms.iloc[0], half, *pair, kind, quantity, *found[:3], found.n, found.clusters))
    return pd.DataFrame(rows, columns=COLUMNS)


def first_picks(packs: pd.DataFrame, policy: str) -> pd.Series:
    """The passage of a packer's first pick, by (dataset, qid).

    Packs are kept in reading order; gains fall from pick to pick, so the largest marginal gain (a token, for the cost-scaled greedy) was
    picked first; equal gains fall back on reading order, which is first-stage order unless the setting says otherwise.
    """
    rows = packs[packs["policy"] == policy]
    gain = rows["marginal_gain"].astype(float) / (rows["n_tokens"].astype(float) if policy in ("submod", "tuned") else 1.0)
    first = rows.assign(gain=gain.fillna(0)).sort_values(["gain", "position"], ascending=[False, True], kind="stable").drop_duplicates(QUESTION)
    return first.set_index(QUESTION)["doc_id"]


def gold_passages(holders: pd.DataFrame, packs: pd.DataFrame, pair: tuple[str, str] = PAIR) -> pd.DataFrame:
    """A row a gold passage: dataset, qid, doc_id and 0/1 columns answer, ranked_first, first_pick, pool, control, treatment."""
    gold = holders[holders["is_gold"].astype(bool)]
    key = pd.MultiIndex.from_frame(gold[[*QUESTION, "doc_id"]])
    kept = [key.isin(pd.MultiIndex.from_frame(packs.loc[packs["policy"] == p, [*QUESTION, "doc_id"]])) for p in pair]
    first = first_picks(packs, pair[1]).reset_index()
    flags = {"answer": gold["holds_answer"] == 1, "ranked_first": (gold["rank"] == 1).fillna(False), "pool": gold["rank"].notna(), "treatment": kept[0],
             "control": kept[1], "first_pick": key.isin(pd.MultiIndex.from_frame(first[[*QUESTION, "doc_id"]]))}
    return gold[[*QUESTION, "doc_id"]].assign(**{k: np.asarray(v, dtype=int) for k, v in flags.items()})


def _sums(questions: pd.DataFrame, holders: pd.DataFrame, packs: pd.DataFrame, pair: tuple[str, str]) -> pd.DataFrame:
    """A row a question: above and below each quantity's fraction line, in columns (quantity) and (quantity)/ ; 0 where it has no part."""
    judged = survival.answers_in_contexts(questions["answers"], [[]] * len(questions), questions["question_type"])["answer_defined"]
    defined = pd.Series(judged.to_numpy(int), index=pd.MultiIndex.from_frame(questions[QUESTION]))
    g = gold_passages(holders, packs, pair)
    answer, t, c = g["answer"], g["treatment"], g["control"]
    share = 1 / g.groupby(QUESTION)["doc_id"].transform("size")  # of the question's coverage
    flags = {"gold": 1, "answer": answer, "ranked_first": answer * g["ranked_first"], "first_pick": answer * g["first_pick"], "in_control": answer * c,
             "in_treatment": answer * t, "added": t * (1 - c), "open": g["pool"] * (1 - c), "dropped": c * (1 - t), "control": c}
    kinds = {"bridging": 1 - answer, "answer": answer}
    parts = {f"{name}_{kind}": flags[name] * of for name in ("added", "open", "dropped", "control") for kind, of in kinds.items()}
    cover = {"cover_added": flags["added"] * share, "cover_added_bridging": parts["added_bridging"] * share, "cover": (t - c) * share,
             "cover_bridging": (t - c) * (1 - answer) * share, "cover_answer": (t - c) * answer * share}
    s = g[QUESTION].assign(**flags, **parts, **cover).groupby(QUESTION).sum().reindex(defined.index).fillna(0).mul(defined, axis=0)
    some = (s > 0).astype(float)  # several answer-bearing passages are one answer found
    known, has = some["gold"], some["answer"]
    fractions = {
        "undefined": (1 - defined, pd.Series(1, index=defined.index)), "has_answer_document": (has, known),
        "answer_ranked_first": (some["ranked_first"], has), "answer_first_pick": (some["first_pick"], has),
        "answer_in_control": (some["in_control"], has), "answer_in_treatment": (some["in_treatment"], has),
        "gold_added": (s["added"], known), "added_bridging": (s["added_bridging"], s["added"]), "open_bridging": (s["open_bridging"], s["open"]),
        "gold_dropped": (s["dropped"], known), "dropped_answer": (s["dropped_answer"], s["dropped"]), "control_answer": (s["control_answer"], s["control"]),
        "added_coverage_bridging": (s["cover_added_bridging"], s["cover_added"]),
        "coverage_delta": (s["cover"], known), "coverage_delta_bridging": (s["cover_bridging"], known), "coverage_delta_answer": (s["cover_answer"], known)}
    return pd.DataFrame({name: v for q in QUANTITIES for name, v in ((q, fractions[q][0]), (f"{q}/", fractions[q][1]))}).reset_index()


def _ratios(group: pd.DataFrame, resamples: int, seed: int):
    """(question type, quantity, Interval) of one data set and half: every fraction of every type from one draw of questions."""
    types = {"all": np.ones(len(group))} | {t: (group["question_type"] == t).to_numpy(float) for t in sorted(set(group["question_type"]))}
    above, below = group[list(QUANTITIES)].to_numpy(float), group[[f"{q}/" for q in QUANTITIES]].to_numpy(float)
    columns = np.hstack([side * mask[:, None] for side in (above, below) for mask in types.values()])
    totals = bootstrap.resample_totals(columns, bootstrap.cluster_codes(group["qid"], len(group)), resamples, seed)
    observed, drawn = (divide(*np.hsplit(total, 2)) for total in totals)
    weights = columns[:, columns.shape[1] // 2:]
    for i, (kind, quantity) in enumerate((t, q) for t in types for q in QUANTITIES):
        found = percentile_interval(observed[0, i], drawn[:, i], np.flatnonzero(weights[:, i]), tested=False)
        counted = found.clusters if quantity == "added_coverage_bridging" else round(weights[:, i].sum())
        yield kind, quantity, _never_certain(found, quantity)._replace(n=int(counted))


def _never_certain(found: bootstrap.Interval, quantity: str) -> bootstrap.Interval:
    """A share of 0 or 1 has resamples that are all alike; the exact interval over its questions takes their place (three passages prove little)."""
    if quantity in NO_SHARES or found.low != found.high or found.estimate not in (0, 1):
        return found
    exact = binomtest(round(found.estimate * found.clusters), found.clusters).proportion_ci()
    return found._replace(low=exact.low, high=exact.high)
