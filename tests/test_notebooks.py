"""The notebooks: committed in one form, short cells, one parameters cell that params.yaml fits, and executed copies that match them."""
import ast
import getpass
import re
import socket
from pathlib import Path

import nbformat
import pytest
import yaml

from lib import nbrun
from lib.nbclean import canonical
from lib.stages import STAGES
from lib.tables import ROOT

SOURCES = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTIONS = sorted((ROOT / "notebooks" / "solutions").glob("*.ipynb"))
TIERS = [name for name in yaml.safe_load((ROOT / "params.yaml").read_text()) if name != "tiers"]
LONGEST = 14  # lines of code in one cell

each_source = pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)


def cells(path: Path, kind: str = "code") -> list:
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == kind]


def tagged(path: Path) -> list:
    return [c for c in cells(path) if "parameters" in c.metadata.get("tags", [])]


def injected(cell) -> bool:
    return "injected-parameters" in cell.metadata.get("tags", [])


# ---- sources


@pytest.mark.parametrize("path", SOURCES + SOLUTIONS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_committed_notebooks_are_canonical_and_without_outputs(path):
    assert path.read_text(encoding="utf-8") == canonical(path.read_text(encoding="utf-8")), f"run: python -m lib.nbclean {path.relative_to(ROOT)}"
    assert not any(c.outputs for c in cells(path))


@each_source
def test_one_parameters_cell_with_one_name_and_value_a_line(path):
    (cell,) = tagged(path)
    body = ast.parse(cell.source).body
    assert all(isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name) and n.lineno == n.end_lineno for n in body)
    assert len(body) == len(cell.source.splitlines()) and body[0].targets[0].id == "tier"
    assert all(ast.literal_eval(n.value) is not None for n in body), "a parameter is a plain value"


@each_source
@pytest.mark.parametrize("tier", TIERS)
def test_params_yaml_sets_only_what_the_notebook_declares(path, tier):
    values = nbrun.parameters(path, tier, ROOT / "params.yaml")
    assert values["tier"] == tier and len(values) > 1


def test_every_block_of_params_yaml_belongs_to_a_notebook():
    given = yaml.safe_load((ROOT / "params.yaml").read_text())
    stages = {n.split("_", 1)[1] for n in STAGES}
    assert {tier: set(given[tier]) for tier in TIERS} == {tier: stages for tier in TIERS}


@each_source
def test_the_notebooks_own_values_have_the_types_that_params_yaml_gives(path):
    given = nbrun.parameters(path, "sample", ROOT / "params.yaml")
    own = {n.targets[0].id: ast.literal_eval(n.value) for n in ast.parse(tagged(path)[0].source).body}
    assert {k: type(own[k]) for k in given} == {k: type(v) for k, v in given.items()}


@each_source
def test_no_cell_is_a_script_in_costume(path):
    counted = {i: sum(bool(line.strip()) for line in c.source.splitlines()) for i, c in enumerate(cells(path)) if "parameters" not in c.metadata.get("tags", [])}
    long = {i: n for i, n in counted.items() if n > LONGEST}
    assert not long, f"code cell: lines {long}; at most {LONGEST}"


@each_source
def test_prose_and_code_alternate(path):
    kinds = "".join(c.cell_type[0] for c in nbformat.read(path, as_version=4).cells)
    assert "cccc" not in kinds and kinds.startswith("mc"), "no more than three code cells in a row; the question comes first"


def functions(path: Path) -> list[str]:
    return [n.name for c in cells(path) for n in ast.walk(ast.parse(c.source)) if isinstance(n, (ast.FunctionDef, ast.ClassDef))]


@each_source
def test_a_function_is_written_out_only_where_it_is_taught(path):
    known = {n.name for m in (ROOT / "lib").glob("*.py") for n in ast.walk(ast.parse(m.read_text())) if isinstance(n, ast.FunctionDef)}
    taught = {name for name in functions(path) if name in known}
    assert set(functions(path)) == taught, "a cell with a def teaches a function that lib has under the same name; a helper belongs in lib"


@each_source
def test_a_notebook_names_no_path_and_no_result(path):
    code = "\n".join(c.source for c in cells(path) if "parameters" not in c.metadata.get("tags", []))
    assert not re.search(r"read_parquet|read_csv|to_csv|to_parquet|open\(|\.\./|data/|figures/", code), "tables are read by name and tier"
    prose = "\n".join(c.source for c in cells(path, "markdown"))
    assert not re.search(r"\b0\.\d\d\d\b|\b\d\d\.\d ?%|p [<=] ?0?\.\d", prose), "source prose holds no result number"


@each_source
def test_its_skeleton_is_the_one_of_all_notebooks(path):
    titles = [line for c in cells(path, "markdown") for line in c.source.splitlines() if line.startswith("#")]
    assert titles[0].startswith("# ") and titles[0].endswith("?") and titles[-2:] == ["## Summary", "## Exercises"]
    code = "\n".join(c.source for c in cells(path))
    assert "answer.update(" in code and re.search(r"^ *assert ", code, re.M), "the bold answer is built from the table; a check must hold"
    assert (ROOT / "notebooks" / "solutions" / path.name).is_file(), "exercises have solutions"


def test_the_first_cells_run_in_a_kernel_started_in_notebooks():
    """`import lib` and every import of every notebook, in a fresh kernel, as JupyterLab starts it."""
    from jupyter_client.manager import start_new_kernel

    lines = ["import os; assert os.path.basename(os.getcwd()) == 'notebooks'; import lib"]
    for path in SOURCES:
        lines += [line for c in cells(path) for line in c.source.splitlines() if re.match(r"(import|from) ", line)]
    manager, client = start_new_kernel(cwd=str(ROOT / "notebooks"))
    try:
        reply = client.execute_interactive("\n".join(dict.fromkeys(lines)), timeout=120, output_hook=lambda _: None)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert reply["content"]["status"] == "ok", reply["content"]


# ---- executed copies


def executed(path: Path):
    copy = ROOT / "notebooks" / "executed" / path.name
    assert copy.is_file(), f"{copy.relative_to(ROOT)} is not there; run 'make repro'"
    return nbformat.read(copy, as_version=4)


def test_there_is_no_executed_copy_without_a_source():
    copies = {p.name for p in (ROOT / "notebooks" / "executed").glob("*.ipynb") if ".partial" not in p.name}
    assert copies <= {p.name for p in SOURCES}


@each_source
def test_the_executed_copy_is_of_this_source(path):
    copy = [(c.cell_type, c.source) for c in executed(path).cells if not injected(c)]
    assert copy == [(c.cell_type, c.source) for c in nbformat.read(path, as_version=4).cells], "the notebook changed since; run 'make repro'"


@each_source
def test_the_executed_copy_had_the_parameters_of_the_sample_tier(path):
    (cell,) = [c for c in executed(path).cells if injected(c)]
    given = {n.targets[0].id: ast.literal_eval(n.value) for n in ast.parse(cell.source).body}
    assert given == nbrun.parameters(path, "sample", ROOT / "params.yaml")


@each_source
def test_the_executed_copy_ran_in_order_without_an_error(path):
    code = [c for c in executed(path).cells if c.cell_type == "code"]
    assert [c.execution_count for c in code] == list(range(1, len(code) + 1))
    assert not [o for c in code for o in c.outputs if o.output_type == "error"]


@each_source
def test_the_executed_copy_answers_its_question(path):
    shown = "".join(o.data.get("text/markdown", "") for c in executed(path).cells if c.cell_type == "code" for o in c.outputs if "data" in o)
    assert "**" in shown and "tier: sample" in shown and "appears here once" not in shown


def outputs_text(nb) -> str:
    parts = [o.get("text", "") or "\n".join(str(v) for v in o.get("data", {}).values()) for c in nb.cells if c.cell_type == "code" for o in c.outputs]
    return "\n".join("".join(p) for p in parts)


@each_source
def test_the_executed_copy_holds_no_path_host_or_timing(path):
    nb = executed(path)
    text = outputs_text(nb)
    assert not re.search(r"(?<![\w:/.])/(home|root|work|tmp|usr|opt|var|Users|mnt)/|[A-Z]:\\\\|site-packages|\.venv", text)
    assert str(ROOT) not in text and f"{getpass.getuser()}@" not in text
    host = socket.gethostname()
    assert len(host) < 4 or not re.search(rf"\b{re.escape(host)}\b", text)
    assert not re.search(r"Wall time|CPU times|\bit/s\b|\d\d:\d\d<|elapsed|\d{4}-\d\d-\d\dT\d\d:\d\d", text)
    assert set(nb.metadata) == {"kernelspec", "language_info"} and all(set(c.metadata) <= {"tags"} for c in nb.cells)


@each_source
def test_the_executed_copy_holds_nothing_random(path):
    text = outputs_text(executed(path))
    assert not re.search(r" at 0x[0-9a-f]{6,}", text), "a memory address"
    assert not re.search(r"altair-viz-[0-9a-f]{32}", text) and "widget-view" not in text
    assert not re.search(r"\bT_[0-9a-f]{5}(?![0-9a-f])", text), "a pandas Styler's random id"
