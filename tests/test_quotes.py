"""Nothing that is committed quotes a public data set: neither figures nor tables of results of the real tier."""
import json
import subprocess

import pytest

from lib import stages, tables
from lib.tables import ROOT


def tracked(*folders: str) -> list:
    listed = subprocess.run(["git", "ls-files", "-z", *folders], capture_output=True, text=True, cwd=ROOT, check=False)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


@pytest.mark.parametrize("tier", ["real", "paper"])
@pytest.mark.parametrize("figure", stages.QUOTING)
def test_figures_that_quote_are_ignored_outside_the_sample(tier, figure):
    assert f"/figures/{tier}/{figure}.*" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert not [p for p in tracked(f"figures/{tier}") if p.name.split(".")[0] == figure]


def test_every_quoting_figure_is_drawn_by_some_stage():
    assert set(stages.QUOTING) <= {figure for *_, figures in stages.STAGES.values() for figure in figures}


def test_no_tracked_result_of_the_real_tier_holds_a_question_or_a_passage():
    if not tables.TABLES["questions"].path("real").exists():
        pytest.skip("the real tier has not been run here")
    questions, documents = tables.read_all("real", "questions", "documents")
    told = [q for q in questions["question"] if len(q) > 25] + [t[:60] for t in documents["text"].sort_values()[::8] if len(t) > 60]
    for path in tracked("figures/real", "data/results/real", "data/results/scores"):
        text = path.read_text(encoding="utf-8")
        quoted = [t for t in told if t in text or json.dumps(t)[1:-1] in text]
        assert not quoted, f"{path.relative_to(ROOT)} quotes {len(quoted)} texts"
