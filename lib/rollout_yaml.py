"""YAML in which every key of a block stands once: the usual reader lets the last of two win in silence, which can weaken a gate unseen."""

from __future__ import annotations

from typing import Any

import yaml


class _Once(yaml.SafeLoader):
    """The safe reader, but for a repeated key; checked before ``<<`` brings in the keys of another block, which may be set anew."""

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node, lines = super().compose_mapping_node(anchor), {}
        for key, _ in node.value:
            at = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and key.value in lines:
                raise ValueError(f"line {at}: the key {key.value!r} stands twice in one block (first on line {lines[key.value]}); keep one")
            lines[str(key.value)] = at
        return node


def read_once(text: str, name: str) -> Any:
    """The content of a YAML text; ``name`` its file. Raises one ValueError, with the file, for whatever cannot be read as meant.

    >>> read_once("alpha: 0.05", "gates.yaml")
    {'alpha': 0.05}
    """
    try:
        return yaml.load(text, _Once)
    except RecursionError as error:
        raise ValueError(f"{name} is no YAML file that can be read: its blocks or lists are nested too deeply") from error
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:  # a value that is not of its tag, such as 30 February
        raise ValueError(f"{name} is no YAML file that can be read: {' '.join(str(error).split())}") from error
