"""Invented rows of `lib.ladder.joined` with known edges: what the ladder's tests share."""
import numpy as np
import pandas as pd

RUNGS = (("smol-135m", "fp32"), ("coder-0.5b", "fp32"), ("coder-0.5b", "nf4"), ("coder-1.5b", "fp32"))
POLICIES = ("naive", "focused", "submod", "closed_book")


def rows(edges=None, n=400, rungs=RUNGS, policies=POLICIES, seed=0, noise=0.2, dataset="hotpotqa"):
    """``edges``: (reader, precision) -> expected submod - focused; focused is level 0.5, naive 0.45, closed book 0.1; F1 uniform noise around them.

    One question in five has no span; where it has one the answer stands in three of four contexts.
    """
    rng, made = np.random.default_rng(seed), []
    for reader, precision in rungs:
        for policy in policies:
            level = {"naive": 0.45, "focused": 0.5, "submod": 0.5 + (edges or {}).get((reader, precision), 0.0), "closed_book": 0.1}[policy]
            f1 = np.clip(level + noise * (rng.random(n) - 0.5), 0, 1)
            made.append(pd.DataFrame({"qid": [f"q{i:04d}" for i in range(n)], "reader": reader, "precision": precision, "policy": policy, "f1": f1}))
    out = pd.concat(made, ignore_index=True).assign(dataset=dataset, pack_id="own-dense-5.chunk", budget=160, half=0, question_type="bridge")
    number = out["qid"].str[1:].astype(int)
    packed = out["policy"] != "closed_book"
    out["answer_defined"] = number % 5 != 4
    out["answer_in_context"] = ((number + out["policy"].str.len()) % 4 != 0).astype(int) * out["answer_defined"] * packed
    out["holds"] = out["answer_in_context"].astype(float).where(out["answer_defined"] & packed)
    out["gold_coverage"] = np.where(number % 10 == 9, np.nan, (number % 3) / 2)
    out = out.assign(em=(out["f1"] > 0.55).astype(float), f1_raw=out["f1"], words=(number % 4).astype(float), answer_precision=out["f1"],
                     answer_recall=out["f1"], abstains=(number % 4 == 0).astype(float), cut_off=0.0, said=(number % 7).astype(str), all_gold_in_context=out["gold_coverage"].round(),
                     n_tokens=150, context_hash=out["policy"] + out["qid"], prediction=None)
    return out.reset_index(drop=True)
