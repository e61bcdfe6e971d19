"""The chain: dvc.yaml is what the notebooks need, every module a notebook reaches is a dependency, tables flow one way."""
import ast
import json

import pytest
import yaml

from lib import stages
from lib.declarations import DECLARATIONS
from lib.stages import STAGES, dvc_yaml, imports, stage
from lib.tables import ROOT

NOTEBOOKS = sorted(p.stem for p in (ROOT / "notebooks").glob("*.ipynb"))


def test_dvc_yaml_is_what_the_notebooks_ask_for():
    assert (ROOT / "dvc.yaml").read_text() == dvc_yaml(), "run: python -m lib.stages --write"


def test_every_notebook_has_a_stage_and_every_stage_a_notebook():
    assert NOTEBOOKS == sorted(STAGES)


@pytest.mark.parametrize("name", list(STAGES))
def test_a_stage_depends_on_its_notebook_and_exactly_the_modules_it_reaches(name):
    deps = stage(name)["do"]["deps"]
    reached = imports(ROOT / "notebooks" / f"{name}.ipynb") | imports(ROOT / "lib" / "nbrun.py") | {"lib/nbrun.py"}
    assert deps[0] == f"notebooks/{name}.ipynb" and {d for d in deps if d.endswith(".py")} == reached
    assert len(deps) == len(set(deps))


@pytest.mark.parametrize("name", list(STAGES))
def test_every_dependency_is_there_or_made_by_an_earlier_stage(name):
    earlier = list(STAGES)[:list(STAGES).index(name)]
    made = {o if isinstance(o, str) else next(iter(o)) for e in earlier for o in stage(e)["do"]["outs"]}
    for dep in stage(name)["do"]["deps"]:
        assert dep == "${item.input}" or dep in made or (ROOT / dep).exists(), dep


@pytest.mark.parametrize("name", list(STAGES))
def test_no_stage_reads_what_it_writes(name):
    _, reads, writes, _ = STAGES[name]
    assert not set(reads) & set(writes)


def test_every_declared_table_is_written_once_and_every_parquet_table_but_the_last_is_read():
    written = [w for _, _, writes, _ in STAGES.values() for w in writes]
    assert sorted(written) == sorted(DECLARATIONS)
    read = {r for _, reads, _, _ in STAGES.values() for r in reads}
    between = {n for n in written if DECLARATIONS[n]["format"] == "parquet"}
    told = {"ace_spans", "ace_sources", "judgements", "downstream_outcomes", "downstream_contexts", "gate_contexts", "gate_features",
            "gating_decisions"}
    assert between - read <= told, "these tell people where a claim comes from, or what to record; all else is for a later stage"


def code_cells(name: str) -> list[ast.Module]:
    cells = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text())["cells"]
    return [ast.parse("".join(c["source"])) for c in cells if c["cell_type"] == "code"]


def calls(tree: ast.AST, *functions: str) -> list[ast.Call]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) in functions]


def words(tree: ast.AST) -> set[str]:
    """Every string and every keyword argument's name."""
    strings = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return strings | {n.arg for n in ast.walk(tree) if isinstance(n, ast.keyword) and n.arg}


@pytest.mark.parametrize("name", list(STAGES))
def test_the_tables_a_notebook_reads_are_the_ones_its_stage_depends_on(name):
    read = set()
    for cell in code_cells(name):
        for call in calls(cell, "tables.read", "tables.read_all"):
            starred = {n.value.id for n in call.args if isinstance(n, ast.Starred)}  # tables.read_all(tier, *names)
            read |= words(call).union(*(words(n) for n in cell.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) in starred))
    assert read & set(DECLARATIONS) == set(STAGES[name][1])


@pytest.mark.parametrize("name", list(STAGES))
def test_the_tables_and_figures_a_notebook_writes_are_its_stages_outs(name):
    _, _, writes, figures = STAGES[name]
    writing = [cell for cell in code_cells(name) if calls(cell, "tables.write", "tables.write_all")]
    assert {w for cell in writing for w in words(cell)} & set(DECLARATIONS) == set(writes)
    assert sorted(c.args[1].value for cell in code_cells(name) for c in calls(cell, "figures.save")) == sorted(figures)


# ---- the search for imports


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A tiny lib in which one notebook reaches modules by every kind of import."""
    monkeypatch.setattr(stages, "ROOT", tmp_path)
    (tmp_path / "lib").mkdir()
    sources = {"__init__": "", "a": "import lib.b\n", "b": "def f():\n    from lib import c\n", "c": "from lib.d import g\n", "d": "from . import e\n",
               "e": "from .f import h\nimport json\n", "f": "import lib.a\n", "unused": ""}
    for name, source in sources.items():
        (tmp_path / "lib" / f"{name}.py").write_text(source)
    return tmp_path


def as_notebook(path, *cells: str):
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": ["from lib import unused"]},
                                          *({"cell_type": "code", "source": c.splitlines(keepends=True)} for c in cells)]}))
    return path


def test_imports_are_followed_through_functions_packages_relative_forms_and_circles(planted):
    path = as_notebook(planted / "01_x.ipynb", "import pandas\nfrom lib import a")
    assert imports(path) == {f"lib/{m}.py" for m in "abcdef"}


@pytest.mark.parametrize("line", ["import lib.new", "from lib import new", "from lib.new import thing", "import lib.new as n", "def f():\n    from lib import new"])
def test_a_fresh_import_is_found_in_any_form(planted, line):
    (planted / "lib" / "new.py").write_text("")
    assert imports(as_notebook(planted / "01_x.ipynb", line)) == {"lib/new.py"}


def test_a_fresh_import_in_a_deep_module_is_found(planted):
    path = as_notebook(planted / "01_x.ipynb", "from lib import a")
    (planted / "lib" / "new.py").write_text("")
    (planted / "lib" / "f.py").write_text("def late():\n    import lib.new\n")
    assert "lib/new.py" in imports(path)


def test_another_packages_modules_are_no_dependencies(planted):
    assert imports(as_notebook(planted / "01_x.ipynb", "import json, library.a\nfrom other.lib import a\nimport a")) == set()


def test_main_says_what_disagrees_and_write_mends_it(tmp_path, monkeypatch, capsys):
    for folder in ("lib", "notebooks"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.setattr(stages, "ROOT", tmp_path)
    (tmp_path / "dvc.yaml").write_text(dvc_yaml().replace("      - lib/tables.py\n", "", 1).replace("lib/stats.py", "lib/gone.py", 1))
    assert stages.main([]) == 1
    said = capsys.readouterr().out
    assert "no longer in dvc.yaml: - lib/gone.py" in said and "python -m lib.stages --write" in said
    assert stages.main(["--write"]) == 0 and stages.main([]) == 0 and yaml.safe_load((tmp_path / "dvc.yaml").read_text())["stages"]
