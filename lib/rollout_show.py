"""A replay record as people read it: its form whole, its lists shortened (notebook 07)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def record_words(record: Mapping[str, Any], n: int = 3) -> str:
    """The record as a Markdown code block, a field a line; of candidates, order and dropped the first ``n``, and how many more there are.

    >>> print(record_words({"qid": "q", "order": ["a", "b", "c"]}, n=2))
    ```json
    {
     "qid": "q",
     "order": ["a", "b", "... 1 more"]
    }
    ```
    """
    lines = [f" {json.dumps(name)}: {json.dumps(_shortened(value, n), ensure_ascii=False)}" for name, value in record.items()]
    return "```json\n{\n" + ",\n".join(lines) + "\n}\n```"


def _shortened(value: Any, n: int) -> Any:
    """Lists cut after ``n``, also inside; everything else as it is."""
    if isinstance(value, Mapping):
        return {k: _shortened(v, n) for k, v in value.items()}
    if not isinstance(value, (list, tuple)) or len(value) <= n:
        return value
    return [*value[:n], f"... {len(value) - n} more"]
