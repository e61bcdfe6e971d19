"""Why each stage would run, in words, also from a real DVC."""
import os
import subprocess
import sys

import pytest

from lib import why
from lib.why import reasons


def test_each_kind_of_change_is_said_in_words():
    status = {"pack@sample": [{"changed deps": {"lib/packers.py": "modified", "data/raw": "deleted", "lib/new.py": "new"}},
                              {"changed outs": {"packs.parquet": "not in cache"}}, "changed command"]}
    assert reasons(status) == ["pack@sample would run: deps: lib/packers.py changed, data/raw is gone, lib/new.py is new; "
                               "outs: packs.parquet not in cache; changed command"]


def test_a_nested_parameter_is_named():
    status = {"read@sample": [{"changed deps": {"params.yaml": {"sample.read": "modified"}}}]}
    assert reasons(status) == ["read@sample would run: deps: params.yaml sample.read changed"]


def test_many_files_are_counted_not_listed():
    (said,) = reasons({"read": [{"changed deps": {f"lib/m{i}.py": "new" for i in range(40)}}]})
    assert "lib/m0.py is new" in said and said.endswith("more") and "lib/m39.py" not in said


def test_nothing_changed_gives_no_line():
    assert reasons({}) == []


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A real, tiny chain of two stages, run once."""
    root = tmp_path_factory.mktemp("chain")
    (root / "in.txt").write_text("1")
    (root / "params.yaml").write_text("sample: {first: {n: 1}}\n")
    (root / "dvc.yaml").write_text("stages:\n  first:\n    cmd: cp in.txt mid.txt\n    params: [sample.first]\n    deps: [in.txt]\n    outs: [mid.txt]\n"
                                   "  second:\n    cmd: cp mid.txt out.txt\n    deps: [mid.txt]\n    outs: [out.txt]\n")
    for command in (["init", "--no-scm", "-q"], ["repro", "-q"]):
        subprocess.run([sys.executable, "-m", "dvc", *command], cwd=root, check=True, env={**os.environ, "DVC_NO_ANALYTICS": "1"}, timeout=60)
    return root


def said_by_main(chain, monkeypatch, capsys) -> str:
    monkeypatch.setattr(why, "ROOT", chain)
    assert why.main() == 0
    return capsys.readouterr().out


def test_a_chain_that_ran_says_that_nothing_would_run(chain, monkeypatch, capsys):
    assert said_by_main(chain, monkeypatch, capsys) == "nothing would run: no input, parameter, notebook or module changed since the last run\n"


def test_a_changed_parameter_and_a_changed_input_are_the_reasons(chain, monkeypatch, capsys):
    (chain / "params.yaml").write_text("sample: {first: {n: 2}}\n")
    (chain / "in.txt").write_text("2")
    said = said_by_main(chain, monkeypatch, capsys)
    assert said.startswith("first would run: ") and "in.txt changed" in said and "sample.first changed" in said


def test_dvcs_own_error_is_passed_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(why, "ROOT", tmp_path)
    assert why.main() != 0 and "DVC repository" in capsys.readouterr().err


def test_another_tier_is_looked_at_with_its_line_in_place_and_a_misspelt_one_is_refused(chain, monkeypatch, capsys):
    lines = []
    monkeypatch.setattr(why.run_tier, "set_tier", lines.append)
    monkeypatch.setattr(why, "ROOT", chain)
    assert why.main("own") == 0 and lines == ["own", "sample"]
    assert why.main() == 0 and lines == ["own", "sample"], "the sample's line is not touched"
    assert why.main("owm") == 2 and "there are sample, real, own, paper" in capsys.readouterr().err
