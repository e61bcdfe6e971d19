"""The one form in which notebooks are committed: no outputs, fixed metadata, numbered cell ids.

usage: python -m lib.nbclean [--check] notebooks/*.ipynb
"""
from __future__ import annotations

import sys
from pathlib import Path

from lib.tables import write_atomically

METADATA = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}


def canonical(text: str) -> str:
    """The canonical form of a notebook given as its JSON text."""
    import nbformat

    nb = nbformat.reads(text, as_version=4)
    for i, cell in enumerate(nb.cells):
        tags = cell.metadata.get("tags")
        cell["id"], cell["metadata"] = str(i), {"tags": list(tags)} if tags else {}
        if cell.cell_type == "code":
            cell["outputs"], cell["execution_count"] = [], None
    nb["metadata"], nb["nbformat"], nb["nbformat_minor"] = dict(METADATA), 4, 5
    return nbformat.writes(nb, indent=1) + "\n"


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    changed = []
    for path in (Path(a) for a in arguments if a != "--check"):
        before = path.read_text(encoding="utf-8")
        after = canonical(before)
        if before != after:
            changed.append(path)
            if not check:
                write_atomically(path, lambda p, text=after: Path(p).write_text(text, encoding="utf-8"))
    for path in changed:
        print(f"{'not canonical' if check else 'cleaned'}: {path}")
    return int(check and bool(changed))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
