"""One thousand decisions of a served gate, one by one on one core, for each kind of model, beside scikit-learn's own call; simulated lists."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from lib.gating_choose import RULES
from lib.gating_inputs import question_sets
from lib.gating_models import Grid
from lib.gating_select import chances
from lib.gating_serving import final_gate, load, save
from lib.gating_serving_decide import decide
from lib.gating_simulated import simulated


def bench_gating_serving(n: int = 1000, models: tuple[str, ...] = ("lr", "rf", "gbm")) -> str:
    """CPU milliseconds a decision, features and vector included, the kilobytes of the artefact, and how many times that scikit-learn's predict_proba takes
    for the same question with its features made already."""
    s = simulated(n)
    data = question_sets(*s[:5])[0][0]
    lists = {key: list(zip(g["title"], g["score"])) for key, g in s.lists.groupby(["list", "qid"])}
    said = []
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            research = final_gate(data, 5, RULES[0], Grid((model,), (8,), constants=()))
            path = save(research, data, Path(folder) / "gate.json")
            gate, size = load(path), path.stat().st_size / 1024
        start = time.process_time()
        for q, vector in zip(s.questions.itertuples(), s.vectors):
            decide(gate, q.question, {"H": lists["H", q.qid], "V": lists["V", q.qid]}, vector)
        spent = time.process_time() - start
        start, few = time.process_time(), max(1, n // 10)
        for i in range(few):
            chances(research, data.features[i:i + 1], data.vectors[i:i + 1])
        peer = (time.process_time() - start) / few
        said.append(f"{model} {1000 * spent / n:.2f} ms ({size:.0f} kB; scikit-learn alone {peer / (spent / n):.1f} times that)")
    return f"{n:,} served decisions one by one: {', '.join(said)}"


if __name__ == "__main__":
    print(bench_gating_serving())
