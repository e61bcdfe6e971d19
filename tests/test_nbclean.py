"""Notebooks are committed in one form: no outputs, fixed metadata, numbered cells."""
import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from lib.nbclean import METADATA, canonical, main


def as_saved_by_jupyter() -> str:
    """A notebook as an editor leaves it after a run."""
    ran = new_code_cell("tier = 'sample'", execution_count=7, outputs=[new_output("stream", name="stdout", text="x")],
                        metadata={"tags": ["parameters"], "scrolled": True, "execution": {"iopub.status.busy": "2026-01-01T00:00:00Z"}})
    nb = new_notebook(cells=[new_markdown_cell("# Why?", metadata={"editable": True}), ran],
                      metadata={"kernelspec": {"display_name": "my env", "language": "python", "name": "my-env"}, "widgets": {}})
    return nbformat.writes(nb)


def test_the_canonical_form_has_no_outputs_counts_or_editor_metadata():
    nb = json.loads(canonical(as_saved_by_jupyter()))
    prose, code = nb["cells"]
    assert (code["outputs"], code["execution_count"], code["metadata"]) == ([], None, {"tags": ["parameters"]})
    assert prose["metadata"] == {} and [c["id"] for c in nb["cells"]] == ["0", "1"]
    assert nb["metadata"] == METADATA and (nb["nbformat"], nb["nbformat_minor"]) == (4, 5)
    assert ["".join(c["source"]) for c in nb["cells"]] == ["# Why?", "tier = 'sample'"]


def test_cleaning_twice_is_cleaning_once():
    once = canonical(as_saved_by_jupyter())
    assert canonical(once) == once and once.endswith("}\n")


def test_check_tells_and_changes_nothing_then_cleaning_mends(tmp_path, capsys):
    path = tmp_path / "01_a.ipynb"
    path.write_text(as_saved_by_jupyter())
    assert main(["--check", str(path)]) == 1 and f"not canonical: {path}" in capsys.readouterr().out
    assert json.loads(path.read_text())["cells"][1]["outputs"], "--check writes nothing"
    assert main([str(path)]) == 0 and f"cleaned: {path}" in capsys.readouterr().out
    assert main(["--check", str(path)]) == 0 and capsys.readouterr().out == ""


def test_a_notebook_that_is_none_is_left_alone(tmp_path):
    path = tmp_path / "01_a.ipynb"
    path.write_text('{"cells": [')
    with pytest.raises(nbformat.reader.NotJSONError):
        main([str(path)])
    assert path.read_text() == '{"cells": [' and [p.name for p in tmp_path.iterdir()] == ["01_a.ipynb"]
