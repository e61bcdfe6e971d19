"""The picture of all gates: its title says what the table says; one and three data sets draw; without an interval nothing does."""
import pandas as pd
import pytest

from lib.charts import NothingToDraw, spec_of
from lib.gating_figures_curves import curves


def table(sets, gates=("learned", "score gap", "mine", "random", "oracle")):
    rows = [(g, d, 5, "coverage", s, {"oracle": 3.0}.get(g, -10 * s), 200) for d in sets for g in gates for s in (0.0, 0.5, 1.0)]
    made = pd.DataFrame(rows, columns=["gate", "dataset", "k", "rule", "skip", "delta", "n"]).assign(tier="sample")
    return made.assign(ci_low=made["delta"] - 1, ci_high=made["delta"] + 1)


def places(*over):
    rows = [("learned", f"set {i}", 0.5, -1.0, -5.0, o) for i, o in enumerate(over)] + [("score gap", "set 0", 0.1, 0.0, -1.0, 1.0)]
    made = pd.DataFrame(rows, columns=["gate", "dataset", "skip", "delta", "random", "over_random"]).assign(k=5, rule="coverage", n=200)
    return made.assign(skip_low=0.4, skip_high=0.6, ci_low=-2.0, ci_high=0.0, over_low=made["over_random"] - 2, over_high=made["over_random"] + 2)


@pytest.mark.parametrize("over, said", [((4,), "(surely better here)"), ((-3,), "(surely worse here)"), ((1,), "(no sure difference)"),
                                        ((4, 4, 1), "(surely better in 2 of 3 data sets)"), ((4, 4, 4), "(surely better in every data set)")])
def test_the_title_tells_the_learned_gate_from_chance(over, said):
    spec = spec_of(curves(table([f"set {i}" for i in range(len(over))]), places(*over)), "curves")
    title = " ".join(spec["title"]["text"]).replace("\u00a0", " ")
    assert title.startswith("The learned gate skips 50 % at −1.0 pp; as many skips at random would bring −5.0") and said in title
    assert len(spec["concat"]) == len(over)


def test_curves_without_places_or_intervals():
    spec = spec_of(curves(table(["a"]), places(4).assign(gate="other")), "curves")
    assert spec["title"]["text"] == ["What each gate costs at every skip rate"]
    with pytest.raises(NothingToDraw):
        curves(table(["a"]).assign(ci_low=None), places(4))
    with pytest.raises(NothingToDraw):
        curves(table(["a"]).head(0), places(4))
