"""What README says can be done: its commands exist, its links and pictures resolve."""
import re
import shlex
import subprocess
import sys

import pytest

from lib.tables import ROOT

README = ROOT / "README.md"
if not README.exists():
    pytest.skip("README.md is not written yet", allow_module_level=True)

TEXT = README.read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z]+):", MAKEFILE, re.M))
BUILT = "notebooks/executed/", "figures/", "data/results/"  # made by 'make repro' and committed
CODE = re.findall(r"```bash\n(.*?)```", TEXT, re.S) + re.findall(r"`([^`\n]+)`", TEXT)


def commands(program: str) -> list[str]:
    return sorted({" ".join(words) for block in CODE for line in re.split(r"\n|&&", block)
                   if (words := line.split("#")[0].split()) and words[0] == program and len(words) > 1})


def skip_unbuilt(path: str) -> None:
    if path.startswith(BUILT) and not (ROOT / path).exists() and not (ROOT / "dvc.lock").exists():
        pytest.skip("made by 'make repro', which has not run here")


def links() -> list[str]:
    return sorted(set(re.findall(r"\]\(([^)\s]+)\)", TEXT)))


def test_the_first_screen_shows_the_two_commands():
    first = TEXT[:3500]
    assert re.search(r"^make repro\b", first, re.M) and re.search(r"^make test\b", first, re.M)


@pytest.mark.parametrize("command", commands("make"))
def test_every_make_command_is_a_target(command):
    assert shlex.split(command)[1] in TARGETS


def test_every_target_says_what_it_does_and_is_phony():
    documented = set(re.findall(r"^([a-z]+): .*## ", MAKEFILE, re.M)) | {"help"}
    assert documented == TARGETS == set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.M)[1].split())


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_every_target_can_be_planned(target):
    done = subprocess.run(["make", "-n", target, "A=x", "B=y"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", sorted(set(re.findall(r"python -m ((?:lib|tests)\.\w+)", TEXT + MAKEFILE))))
def test_every_module_that_is_run_exists(module):
    path = ROOT / module.replace(".", "/")
    assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


@pytest.mark.parametrize("link", links())
def test_every_link_and_picture_resolves(link):
    if re.match(r"https?://|mailto:|#", link):
        pytest.skip("outside this repository")
    target = link.split("#")[0]
    skip_unbuilt(target)
    assert (ROOT / target).exists(), f"{target}, linked from README.md, is not there"


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:lib|data|notebooks|tests|figures)/[\w./-]+)`", TEXT))))
def test_every_path_in_code_type_exists(path):
    skip_unbuilt(path)
    ignored = path.startswith(("data/derived", "data/cache", "data/raw/", "data/results/real", "figures/real", "data/results/own", "figures/own"))
    assert ignored or (ROOT / path).exists()


def test_no_absolute_path_and_no_local_address():
    assert not re.search(r"(?<![\w.])/(home|root|work|tmp|usr)/|localhost|127\.0\.0\.1", TEXT)


def test_the_notebooks_are_all_linked():
    assert {f"notebooks/executed/{p.name}" for p in (ROOT / "notebooks").glob("*.ipynb")} <= set(links())




def test_the_finding_is_what_the_tables_say():
    from lib import compare, readme, tables

    if not tables.TABLES["claims"].path("sample").exists():
        pytest.skip("the sample chain has not run yet")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, told in (("finding", readme.finding()), ("more", readme.more())):
        said = readme.marked(name).search(text)[0]
        assert compare.close(said, f"<!-- {name} -->\n{told}\n<!-- /{name} -->"), "run python -m lib.readme"


def test_the_python_in_the_readme_runs():
    from lib import weights

    try:
        weights.locate("minilm"), weights.locate("smollm2-135m")
    except weights.WeightsError as missing:
        pytest.skip(f"the small models are not here: {missing}")
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)[1]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ran.returncode == 0 and "bridge#0" in ran.stdout and "quill#0" in ran.stdout, ran.stderr
