"""The environment: one list of exact pins, which conda and pip users share, and which is what is installed."""
import re
from importlib import metadata

import pytest
import yaml

from lib.tables import ROOT

LINES = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line.strip() and not line.startswith("#")]
NAMED = ["jupyter", "papermill", "nbconvert", "torch", "transformers", "bitsandbytes", "sentence-transformers", "datasets", "altair", "pandas"]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


PINS = {canonical(name): version for name, version in (line.split("==") for line in LINES if "==" in line)}


def test_environment_yml_is_python_3_11_pip_and_the_lock():
    given = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert given["dependencies"] == ["python=3.11", "pip", {"pip": ["-r requirements.txt"]}]
    assert set(given) == {"name", "channels", "dependencies"} and re.fullmatch(r"[a-z-]+", given["name"])


def test_the_lock_is_exact_pins_and_this_repository_itself():
    others = [line for line in LINES if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][A-Za-z0-9.]*", line)]
    assert others == ["-e ."], "no ranges, no local versions (+cpu), no addresses"


def test_no_package_is_pinned_twice():
    assert len(PINS) == len(LINES) - 1


@pytest.mark.parametrize("name", NAMED)
def test_the_packages_the_compendium_is_named_after_are_in_the_lock(name):
    assert name in PINS


def test_what_is_installed_is_what_is_locked():
    installed = {}
    for distribution in metadata.distributions():
        installed.setdefault(canonical(distribution.metadata["Name"]), distribution.version.split("+")[0])
    assert {name: installed.get(name, "not installed") for name in PINS} == PINS


def test_every_third_party_import_of_lib_is_locked():
    owners = metadata.packages_distributions()
    modules = {m for p in (ROOT / "lib").glob("*.py") for m in re.findall(r"^\s*(?:import|from) ([a-zA-Z_]\w*)", p.read_text(), re.M)}
    third_party = {m for m in modules if m in owners and m != "lib"}
    assert {"pandas", "torch", "altair"} <= third_party
    assert {m for m in third_party if not {canonical(o) for o in owners[m]} & set(PINS)} == set()


def test_python_and_the_lock_agree_with_pyproject():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["requires-python"] == ">=3.11,<3.12"
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["lib"]
    assert all(canonical(r) in PINS for r in project["build-system"]["requires"]), "an editable install builds with what is locked"


def test_ci_runs_the_readmes_test_command():
    text = (ROOT / ".ci" / "run").read_text()
    assert "make test" in text and "set -euo pipefail" in text and (ROOT / ".ci" / "run").stat().st_mode & 0o111, "and may be executed"
