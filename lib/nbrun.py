"""Run one notebook as a pipeline stage: papermill, strict parameters, and an executed copy whose bytes do not change from run to run.

usage: python -m lib.nbrun NOTEBOOK TIER FOLDER      e.g. python -m lib.nbrun 02_pack sample notebooks/executed

The parameters are ``params.yaml[TIER][STAGE]`` (02_pack: stage ``pack``). Exit codes: 0 done, 1 a cell failed, 2 bad parameters.
"""
from __future__ import annotations

import argparse
import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from lib.tables import ROOT, write_atomically

# MALLOC_*: torch asks for large blocks again and again, and giving them back each time cost a third of a core in system time
ENVIRONMENT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "-1", "MALLOC_TOP_PAD_": "268435456", "OMP_NUM_THREADS": "1",
               "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0", "TQDM_MININTERVAL": "15", "HF_HUB_DISABLE_TELEMETRY": "1", "MPLBACKEND": "Agg"}
ADDRESS = re.compile(r" at 0x[0-9a-f]{6,}")  # <Styler object at 0x7f...>


class ParameterError(ValueError):
    """params.yaml and a notebook's parameters cell disagree."""


def parameters(notebook: Path, tier: str, params: Path) -> dict:
    """What params.yaml gives this notebook for ``tier``; an unknown name or a missing parameters cell is an error."""
    import papermill
    import yaml

    if "_" not in notebook.stem or not notebook.is_file():
        raise ParameterError(f"there is no notebook {notebook}; notebooks are called like 02_pack.ipynb, and named here without the ending")
    try:
        given = yaml.safe_load(params.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ParameterError(f"{params.name} is no YAML: {error}") from error
    stage = notebook.stem.split("_", 1)[1]
    values = {"tier": tier, **_block(_block(given, tier, params.name), stage, f"{params.name}, {tier}")}
    declared = papermill.inspect_notebook(str(notebook))
    if not declared:
        raise ParameterError(f"{notebook.name} has no cell tagged 'parameters' with one name = value a line; papermill would ignore "
                             f"{sorted(values)}. In JupyterLab: Property Inspector, Cell Tags, add 'parameters'")
    unknown = sorted(set(values) - set(declared))
    if unknown:
        raise ParameterError(f"{params.name}: {tier}.{stage} sets {unknown}, which {notebook.name} does not declare; "
                             f"its parameters are {sorted(declared)}")
    return values


def _block(given: object, name: str, where: str) -> Mapping:
    """``given[name]``, which has to hold names and values; an empty block holds none."""
    blocks = given if isinstance(given, Mapping) else {}
    if name not in blocks:
        raise ParameterError(f"{where} has no block {name!r}; it has {sorted(set(blocks) - {'tiers'})}")
    if not isinstance(blocks[name] or {}, Mapping):
        raise ParameterError(f"{where}: block {name!r} has to hold one 'name: value' a line, got {blocks[name]!r}")
    return blocks[name] or {}


def settled(nb):
    """The executed notebook without whatever differs between two equal runs: timings, ids, addresses, progress bars, warnings on stderr."""
    nb.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
    for i, cell in enumerate(nb.cells):
        cell["id"] = str(i)
        tags = cell.metadata.get("tags") or []
        cell["metadata"] = {"tags": list(tags)} if tags else {}
        if cell.cell_type == "code":
            cell["outputs"] = _joined_streams([_settled_output(o, i) for o in cell.outputs if _keeps(o)])
    return nb


def _joined_streams(outputs: list) -> list:
    """Printed text in one piece: where a warning on stderr cut it in two depends on the moment."""
    joined: list = []
    for output in outputs:
        if joined and output.output_type == joined[-1].output_type == "stream":
            joined[-1]["text"] += output["text"]
        else:
            joined.append(output)
    return joined


def _keeps(output) -> bool:
    progress = "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    return not progress and not (output.output_type == "stream" and output.name == "stderr")


def _settled_output(output, cell: int):
    output.pop("metadata", None) if output.output_type == "stream" else output.update(metadata={})
    for kind, content in output.get("data", {}).items():
        if isinstance(content, str):
            content = re.sub(r"altair-viz-[0-9a-f]{32}", "altair-viz", content)
            content = re.sub(r"\bT_[0-9a-f]{5}(?![0-9a-f])", f"T_{cell}", content)  # a pandas Styler's random id
            output["data"][kind] = ADDRESS.sub("", content)
    if output.output_type == "stream":
        output["text"] = ADDRESS.sub("", output["text"])
    return output


def watch_parent(seconds: float = 1.0) -> None:
    """End this process (and with it the kernel) when whoever started it is gone: a killed 'dvc repro' must leave nothing that still writes."""
    started_by = os.getppid()

    def watch() -> None:
        while os.getppid() == started_by:
            time.sleep(seconds)
        os._exit(143)

    threading.Thread(target=watch, daemon=True).start()


def run(notebook: Path, destination: Path, values: dict, timeout: int = 36_000) -> None:
    """Execute ``notebook`` with ``values`` in a kernel whose folder is notebooks/, then write the settled copy in one step."""
    import nbformat
    import papermill
    from traitlets.config import Config

    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    partial = destination.with_suffix(".partial.ipynb")
    destination.parent.mkdir(parents=True, exist_ok=True)
    papermill.execute_notebook(str(notebook), str(partial), parameters=values, kernel_name="python3", progress_bar=False,
                               execution_timeout=timeout, cwd=str(notebook.parent), log_output=False,
                               stderr_file=sys.stderr, config=Config({"KernelManager": {"transport_encryption": "auto"}}))
    text = nbformat.writes(settled(nbformat.read(partial, as_version=4)), indent=1) + "\n"
    write_atomically(destination, lambda p: Path(p).write_text(text, encoding="utf-8"))
    partial.unlink()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook")
    parser.add_argument("tier")
    parser.add_argument("folder")
    parser.add_argument("--params", default=str(ROOT / "params.yaml"))
    given = parser.parse_args(argv)
    watch_parent()
    notebook = ROOT / "notebooks" / f"{given.notebook}.ipynb"
    destination = ROOT / given.folder / notebook.name
    try:
        values = parameters(notebook, given.tier, Path(given.params))
    except (ParameterError, OSError) as error:
        print(f"{given.notebook}: {error}", file=sys.stderr)
        return 2
    import papermill
    from nbclient.exceptions import DeadKernelError

    partial = os.path.relpath(destination.with_suffix(".partial.ipynb"), ROOT)
    try:
        run(notebook, destination, values)
    except papermill.PapermillExecutionError as error:
        print(f"\nnotebooks/{notebook.name}: cell [{error.exec_count}] failed with {error.ename}: {error.evalue}\n"
              f"the notebook as far as it got: {partial}", file=sys.stderr)
        return 1
    except OSError as error:  # a full disk, a folder that may not be written
        print(f"\nnotebooks/{notebook.name}: {error}", file=sys.stderr)
        return 1
    except DeadKernelError:
        print(f"\nnotebooks/{notebook.name}: its kernel died, most often since memory ran out (a smaller batch or model, or fewer questions, "
              f"helps)\nthe notebook as far as it got: {partial}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
