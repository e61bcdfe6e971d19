"""A tier is one line of params.yaml: swapped, run, put back, whatever ends the run."""
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lib import run_tier
from lib.run_tier import LINES, absent_inputs, set_tier
from lib.tables import ROOT

FAKE_DVC = """\
import os, sys, time
from pathlib import Path
print("dvc", *sys.argv[1:], "with", Path("params.yaml").read_text().splitlines()[1], flush=True)
if Path("wait").exists():
    time.sleep(60)
raise SystemExit(int(os.environ.get("FAKE_DVC_CODE", "0")))
"""


def line(path: Path) -> str:
    return next(text for text in path.read_text().splitlines() if text.startswith("tiers:"))


@pytest.fixture
def params(tmp_path) -> Path:
    path = tmp_path / "params.yaml"
    path.write_text((ROOT / "params.yaml").read_text())
    return path


@pytest.fixture
def clone(tmp_path, params) -> Path:
    """A repository with our lib and params.yaml, the sample corpus, and a dvc that only says what it was asked."""
    shutil.copytree(ROOT / "lib", tmp_path / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "data" / "sample" / "corpus").mkdir(parents=True)
    (tmp_path / "dvc.py").write_text(FAKE_DVC)
    return tmp_path


def run(clone: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "lib.run_tier", *arguments], cwd=clone, capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


def bring(clone: Path) -> None:
    """One data set of the real tier."""
    path = clone / "data" / "raw" / "musique" / "musique_ans_dev.jsonl.gz"
    path.parent.mkdir(parents=True)
    path.touch()


def test_the_committed_line_is_that_of_the_sample_tier():
    assert line(ROOT / "params.yaml") == LINES["sample"]


@pytest.mark.parametrize("tier", list(LINES))
def test_every_line_names_its_tier_and_that_tier_has_its_blocks(tier):
    (named,) = yaml.safe_load(LINES[tier])["tiers"]
    assert named == tier and tier in yaml.safe_load((ROOT / "params.yaml").read_text())


def test_only_the_one_line_changes_and_comes_back(params):
    before = params.read_text()
    set_tier("real", params)
    assert line(params) == LINES["real"] and params.read_text().replace(LINES["real"], LINES["sample"]) == before
    set_tier("sample", params)
    assert params.read_text() == before


def test_whatever_tier_a_killed_run_left_the_next_one_sets_its_own(params):
    set_tier("paper", params)
    set_tier("real", params)
    assert line(params) == LINES["real"]


def test_an_unknown_tier_changes_nothing(params):
    before = params.read_text()
    with pytest.raises(ValueError, match="no tier is called 'papre'; there are sample, real, own, paper"):
        set_tier("papre", params)
    assert params.read_text() == before


@pytest.mark.parametrize("text", ["sample: {}\n", "tiers: {a: {}}\ntiers: {b: {}}\n"])
def test_a_params_file_without_exactly_one_tiers_line_is_refused(params, text):
    params.write_text(text)
    with pytest.raises(ValueError, match="exactly one line that starts with 'tiers:', found [02]"):
        set_tier("real", params)
    assert params.read_text() == text


def test_absent_inputs_are_named_and_one_present_set_is_enough(tmp_path, params, monkeypatch):
    monkeypatch.setattr("lib.inputs.ROOT", tmp_path)
    reasons = absent_inputs("real", params)
    assert [r.split(":")[0] for r in reasons] == ["hotpotqa", "2wiki", "musique"] and "data/raw/musique/musique_ans_dev.jsonl.gz is not there" in reasons[2]
    bring(tmp_path)
    assert absent_inputs("real", params) == []
    assert absent_inputs("paper", params) == [], "the hub's sets need no file"


def test_without_inputs_the_tier_is_skipped_with_the_reason(clone):
    done = run(clone, "real")
    assert done.returncode == 0 and "tier real skipped, no data set is at hand" in done.stdout and "see data/raw/README.md" in done.stdout
    assert "dvc" not in done.stdout and line(clone / "params.yaml") == LINES["sample"]


def test_the_chain_runs_with_the_tiers_line_which_then_comes_back(clone):
    bring(clone)
    done = run(clone, "real", "--force", FAKE_DVC_CODE="7")
    assert done.returncode == 7 and f"dvc repro --force with {LINES['real']}" in done.stdout
    assert line(clone / "params.yaml") == LINES["sample"]


def test_a_misspelt_tier_is_said(clone):
    done = run(clone, "papre")
    assert done.returncode == 2 and "no tier is called 'papre'; there are sample, real, own, paper" in done.stderr and "Traceback" not in done.stderr


def _heeds_interrupts():
    """A shell that starts the tests in the background leaves them deaf to SIGINT, and so would be their children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def stopped(clone: Path, number: signal.Signals) -> Path:
    """Start the real tier, wait until its chain runs, end it by a signal."""
    bring(clone)
    (clone / "wait").touch()
    running = subprocess.Popen([sys.executable, "-m", "lib.run_tier", "real"], cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               start_new_session=True, preexec_fn=_heeds_interrupts)
    try:
        assert running.stdout.readline().startswith("dvc repro with tiers: {real")
        os.kill(running.pid, number)
        running.wait(timeout=20)
    finally:
        if number == signal.SIGKILL:  # the fake dvc outlives it; it is ours to end
            os.killpg(running.pid, signal.SIGKILL)
        running.stdout.close()
    return clone / "params.yaml"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_stopped_run_puts_the_line_back(clone, number):
    assert line(stopped(clone, number)) == LINES["sample"]


def test_after_a_kill_the_next_sample_run_puts_the_line_back(clone):
    params = stopped(clone, signal.SIGKILL)
    assert line(params) == LINES["real"], "nothing can act on SIGKILL"
    (clone / "wait").unlink()
    assert f"with {LINES['sample']}" in run(clone, "sample").stdout and line(params) == LINES["sample"]


def test_main_without_an_argument_is_the_sample_tier(monkeypatch):
    asked = []
    monkeypatch.setattr(run_tier, "set_tier", asked.append)
    monkeypatch.setattr(run_tier, "absent_inputs", lambda tier: [])
    monkeypatch.setattr(run_tier.subprocess, "call", lambda *a, **k: 0)
    handlers = {s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGHUP)}
    try:
        assert run_tier.main([]) == 0 and asked == ["sample", "sample"]
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("place", ["absent_inputs", "set_tier"])
def test_a_disk_error_is_one_line_and_exits_with_1(monkeypatch, capsys, place):
    def denied(tier):
        raise PermissionError(13, "could not write params.yaml: Permission denied")

    monkeypatch.setattr(run_tier, "absent_inputs", lambda tier: [])
    monkeypatch.setattr(run_tier, place, denied)
    monkeypatch.setattr(run_tier.signal, "signal", lambda *args: None)
    assert run_tier.main(["sample"]) == 1
    assert capsys.readouterr().err == "tier sample: [Errno 13] could not write params.yaml: Permission denied\n"


def test_the_own_tier_watches_its_folder_and_leaves_nothing_to_commit():
    tier = yaml.safe_load(LINES["own"])["tiers"]["own"]
    sources = yaml.safe_load((ROOT / "params.yaml").read_text())["own"]["retrieve"]["sources"]
    assert [source["path"] for source in sources.values()] == [tier["input"]] == ["data/raw/own"]
    written = ["data/raw/own/questions.jsonl", "data/results/own/claims.csv", "figures/own/claims.svg", f"{tier['executed']}/01_retrieve.ipynb"]
    ignored = subprocess.run(["git", "check-ignore", *written], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert ignored == written


def test_the_committed_parameters_name_the_sample_tier():
    line = next(line for line in (ROOT / "params.yaml").read_text(encoding="utf-8").splitlines() if line.startswith("tiers:"))
    assert line == run_tier.LINES["sample"], "a run of another tier was going on; 'python -m lib.run_tier sample' puts the line back"
