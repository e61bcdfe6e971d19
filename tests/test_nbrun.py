"""Running a notebook as a stage: strict parameters, one sentence for a failed cell, and a copy whose bytes do not change."""
import json
import os
import subprocess
import sys
import textwrap
import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from lib import nbrun
from lib.nbclean import METADATA
from lib.nbrun import ParameterError, main, parameters, settled

TALKATIVE = """\
import sys, time, logging, warnings
import pandas as pd
from tqdm.auto import tqdm
print("rows", n, tier)
for _ in tqdm(range(3), desc="secret bar"):
    print("to stderr", file=sys.stderr, flush=True)
    time.sleep(0.3)
    print("step", flush=True)
warnings.warn("a warning that names a path")
logging.getLogger("x").warning("a log line")
from IPython.display import HTML, display
import uuid
display(HTML(f'<div id="altair-viz-{uuid.uuid4().hex}"></div>'))
display(object())
print(object())
pd.DataFrame({"a": [1]}).style.hide(axis="index")"""


def notebook(*cells: str, first: str = 'tier = "sample"\nn = 1', tagged: bool = True):
    parameters_cell = new_code_cell(first, metadata={"tags": ["parameters"]} if tagged else {})
    return new_notebook(cells=[new_markdown_cell("# Why?"), parameters_cell, *map(new_code_cell, cells)], metadata=METADATA)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository with one stage's parameters; main() works in it."""
    monkeypatch.setattr(nbrun, "ROOT", tmp_path)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params.yaml").write_text("tiers: {sample: {}}\nsample:\n  toy: {n: 3}\n  empty:\nother:\n")
    return tmp_path


def save(root, nb, name="01_toy"):
    path = root / "notebooks" / f"{name}.ipynb"
    path.write_text(nbformat.writes(nb))
    return path


# ---- parameters


def test_parameters_are_the_tier_and_its_block(root):
    assert parameters(save(root, notebook()), "sample", root / "params.yaml") == {"tier": "sample", "n": 3}


def test_an_empty_block_leaves_the_notebooks_own_values(root):
    assert parameters(save(root, notebook(), "01_empty"), "sample", root / "params.yaml") == {"tier": "sample"}


def test_a_misspelt_parameter_is_named_and_exits_with_2(root, capsys):
    save(root, notebook(first='tier = "sample"\nm = 1'))
    assert main(["01_toy", "sample", "built"]) == 2
    assert "sample.toy sets ['n'], which 01_toy.ipynb does not declare; its parameters are ['m', 'tier']" in capsys.readouterr().err
    assert not (root / "built").exists()


@pytest.mark.parametrize("nb", [notebook(tagged=False), notebook(first=""), notebook(first="tier, n = 'sample', 1")], ids=["no tag", "empty", "tuple"])
def test_a_parameters_cell_that_papermill_would_ignore_exits_with_2(root, capsys, nb):
    save(root, nb)
    assert main(["01_toy", "sample", "built"]) == 2
    assert "no cell tagged 'parameters' with one name = value a line" in capsys.readouterr().err


@pytest.mark.parametrize("name, tier, params, said", [
    ("01_toy", "papre", None, r"params.yaml has no block 'papre'; it has \['other', 'sample'\]"),
    ("01_toy", "other", None, r"params.yaml, other has no block 'toy'; it has \[\]"),
    ("01_toy", "sample", "sample: {toy: [1, 2]}", "block 'toy' has to hold one 'name: value' a line, got \\[1, 2\\]"),
    ("01_toy", "sample", "sample: {toy: 3}", "got 3"), ("01_toy", "sample", "just words", "has no block 'sample'"), ("01_toy", "sample", "", "has no block"),
    ("01_toy", "sample", "a: [", "params.yaml is no YAML"), ("02_gone", "sample", None, "no notebook .*02_gone.ipynb"), ("toy", "sample", None, "no notebook")])
def test_bad_names_and_bad_parameter_files_are_said(root, capsys, name, tier, params, said):
    notebook_path = save(root, notebook())
    if params is not None:
        (root / "params.yaml").write_text(params)
    with pytest.raises(ParameterError, match=said):
        parameters(notebook_path.with_name(f"{name}.ipynb"), tier, root / "params.yaml")
    assert main([name, tier, "built"]) == 2 and capsys.readouterr().err.startswith(f"{name}: ")


def test_no_params_file_exits_with_2(root, capsys):
    save(root, notebook())
    assert main(["01_toy", "sample", "built", "--params", str(root / "gone.yaml")]) == 2
    assert "gone.yaml" in capsys.readouterr().err


# ---- two equal runs


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """The executed copies of one talkative notebook, run twice."""
    root = tmp_path_factory.mktemp("runs")
    source = root / "01_toy.ipynb"
    source.write_text(nbformat.writes(notebook(TALKATIVE, "import os; os.path.basename(os.getcwd())")))
    for name in ("first", "second"):
        nbrun.run(source, root / name / source.name, {"tier": "sample", "n": 3})
    return [(root / name / source.name).read_bytes() for name in ("first", "second")]


def test_two_runs_are_the_same_bytes(two_runs):
    assert two_runs[0] == two_runs[1]


@pytest.mark.parametrize("noise", ["secret bar", "to stderr", "a warning", "a log line", "widget-view", "papermill", "iopub", "duration", "0x7", "Styler at",
                                   "it/s", "Python 3.1"])
def test_noise_does_not_reach_the_copy(two_runs, noise):
    nb = json.loads(two_runs[0])
    assert noise not in json.dumps([{**cell, "source": ""} for cell in nb["cells"]]) + json.dumps(nb["metadata"])


def test_what_the_notebook_said_reaches_the_copy(two_runs):
    cells = json.loads(two_runs[0])["cells"]
    said = [c for c in cells if "secret bar" in "".join(c["source"]) or c["cell_type"] == "code"]
    streams = [o for c in said for o in c["outputs"] if o["output_type"] == "stream"]
    assert "".join(streams[0]["text"]) == "rows 3 sample\nstep\nstep\nstep\n", "one piece, whatever stderr did in between"
    assert '"altair-viz"' in json.dumps(cells).replace("\\", "") and "<object object>" in json.dumps(cells)
    assert [c["metadata"] for c in cells][1:3] == [{"tags": ["parameters"]}, {"tags": ["injected-parameters"]}]
    assert [c["execution_count"] for c in cells if c["cell_type"] == "code"] == [1, 2, 3, 4]


def test_the_kernel_runs_in_the_notebooks_folder(two_runs):
    last = json.loads(two_runs[0])["cells"][-1]["outputs"][0]["data"]["text/plain"]
    assert "runs" in "".join(last)


def test_a_stylers_random_id_is_settled_everywhere_in_the_cell():
    html = '<style>#T_1a2b3_row0 {color: red}</style><table id="T_1a2b3"><td id="T_1a2b3_row0_col0">T_max, HAT_12345</td></table>'
    nb = notebook("x")
    nb.cells[2]["outputs"] = [new_output("display_data", {"text/html": html, "text/plain": "<Styler at 0x7f0123456789>", "application/json": {"a": 1}})]
    data = settled(nb).cells[2]["outputs"][0]["data"]
    assert data["text/html"] == html.replace("T_1a2b3", "T_2") and data["text/plain"] == "<Styler>" and data["application/json"] == {"a": 1}


# ---- failures


def test_a_failing_cell_exits_with_1_names_it_and_keeps_the_partial_copy(root, capsys):
    save(root, notebook("print('so far')", "raise ValueError('no such column')", "print('never')"))
    copy = root / "built" / "01_toy.ipynb"
    copy.parent.mkdir()
    copy.write_text("the copy of an earlier run")
    assert main(["01_toy", "sample", "built"]) == 1
    said = capsys.readouterr().err
    assert "notebooks/01_toy.ipynb: cell [4] failed with ValueError: no such column" in said and "built/01_toy.partial.ipynb" in said
    assert copy.read_text() == "the copy of an earlier run"
    partial = (root / "built" / "01_toy.partial.ipynb").read_text()
    assert "so far" in partial and '"never\\n"' not in partial
    assert sorted(p.name for p in copy.parent.iterdir()) == ["01_toy.ipynb", "01_toy.partial.ipynb"]


def test_a_kernel_that_dies_exits_with_1_and_says_what_may_help(root, capsys):
    save(root, notebook(textwrap.dedent("""
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)    # what the system does when memory runs out
        """)))
    assert main(["01_toy", "sample", str(root / "built")]) == 1
    assert "01_toy.ipynb: its kernel died, most often since memory ran out" in capsys.readouterr().err
    assert not (root / "built" / "01_toy.ipynb").exists()


def test_a_run_ends_when_the_one_who_started_it_is_killed(tmp_path):
    script = tmp_path / "child.py"
    script.write_text("import time\nfrom lib.nbrun import watch_parent\nwatch_parent(0.05)\nprint('ready', flush=True)\ntime.sleep(60)\n")
    parent = subprocess.Popen(["bash", "-c", f"{sys.executable} {script} & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    assert parent.stdout.readline().strip() == "ready"
    parent.kill()
    parent.wait()
    for _ in range(100):
        if not os.path.exists(f"/proc/{child}") or "Z" in open(f"/proc/{child}/stat").read().rsplit(")", 1)[1].split()[0]:
            return
        time.sleep(0.05)
    os.kill(child, 9)
    raise AssertionError("the child outlived the process that started it")


def test_a_full_disk_is_one_line_and_exits_with_1(root, capsys, monkeypatch):
    save(root, notebook())

    def full(*args, **options):
        raise OSError(28, "could not write the copy: No space left on device")

    monkeypatch.setattr(nbrun, "run", full)
    assert main(["01_toy", "sample", "built"]) == 1
    said = capsys.readouterr().err
    assert "notebooks/01_toy.ipynb: [Errno 28] could not write the copy" in said and said.strip().count("\n") == 0


def test_a_params_file_that_may_not_be_read_exits_with_2(root, capsys):
    save(root, notebook())
    assert main(["01_toy", "sample", "built", "--params", str(root)]) == 2  # a folder
    assert "01_toy: [Errno" in capsys.readouterr().err
