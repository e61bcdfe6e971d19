"""Where this audit counts as TREC's tools do, where it does not, and why: the rows of the report's last table (SPEC 11; each is a test)."""

from __future__ import annotations

import pandas as pd

_ROWS = (
    ("nDCG, linear gain", "equal", "trec_eval's ndcg_cut, pytrec_eval, ir_measures nDCG", "Gain g, discount log2(rank + 1), ideal over all judged passages."),
    ("nDCG, exponential gain", "equal", "ir_measures nDCG(dcg='exp-log2')", "Gain 2^g - 1, which document 001 uses; trec_eval has no such gain."),
    ("recall at the pool's depth", "equal", "trec_eval's recall, ir_measures R", "Grades above 0 are relevant; the denominator is all of them."),
    ("reciprocal rank", "equal", "trec_eval's recip_rank, ir_measures RR", "Of the first relevant passage in the whole pool."),
    (
        "order of tied scores",
        "differs",
        "trec_eval sorts ties by document name",
        "Ties go by first-stage rank, so that renaming a document changes nothing; worst and best bounds are given.",
    ),
    ("the rank column", "differs", "trec_eval ignores it", "Scores order a run here, too; the rank column orders ties, and contradictions are counted."),
    (
        "a judged query that the run lacks",
        "differs",
        "trec_eval leaves it out of the mean (without -c)",
        "It scores 0 and stays: what is not answered is not forgotten.",
    ),
    (
        "a query without a relevant passage",
        "differs",
        "trec_eval gives it 0",
        "Undefined, left out of the mean and counted: neither system nor reranker can be blamed.",
    ),
    ("negative grades", "equal", "trec_eval gives them no gain", "They count as 0 and are counted."),
    (
        "unjudged passages",
        "equal",
        "trec_eval counts them as 0",
        "So do base and ceiling here; the judged share and scores without unjudged passages stand beside them.",
    ),
    ("a passage ranked twice", "differs", "tools keep one, or add both gains", "An error: two gains for one passage can lift nDCG above 1."),
    ("alpha-nDCG", "equal", "ndeval", "Greedy ideal, (1 - alpha) per repetition, as Clarke et al. (2008) define it; held against values worked by hand."),
)


def definitions() -> pd.DataFrame:
    """What, how it compares (equal or differs), with which tool's definition, and what is done here.

    >>> definitions()["compared"].value_counts().to_dict()
    {'equal': 7, 'differs': 5}
    """
    return pd.DataFrame(_ROWS, columns=["what", "compared", "elsewhere", "here"])
