"""Releases from the hub through `datasets`: Parquet only, by a pinned revision (SPEC 1)."""

from __future__ import annotations

import logging
import re

from lib.records import DataError, Record

log = logging.getLogger(__name__)
_COMMIT = re.compile(r"@([0-9a-f]{40})/")


def read_hub(source: dict) -> tuple[list[Record], str]:
    """Records of one split of a hub data set, and the revision they came from.

    `source` has hub (repo id), config (or None), split, and revision: a commit or branch; None means the latest, and what it resolved to
    is logged. No loading script is ever run. Raises DataError when the hub cannot be reached, the set, config, split or revision
    is not there, or its files are not Parquet.
    """
    import datasets  # heavy
    from huggingface_hub.utils import httpx  # a refusing proxy raises its error, which is no OSError

    repo, split, revision = source["hub"], source.get("split"), source.get("revision")
    if not split:
        raise DataError(f'hub data set {repo}, field split: is missing; pass "split", for example "validation"')
    try:
        rows = datasets.load_dataset(repo, source.get("config"), split=split, revision=revision)
    except (OSError, RuntimeError, ValueError, datasets.exceptions.DatasetsError, httpx.HTTPError) as error:
        raise _unreachable(source, error) from error
    info = getattr(rows, "info", None)
    if getattr(info, "builder_name", None) not in (None, "parquet"):
        raise DataError(
            f'hub data set {repo}: its files are {info.builder_name}, not Parquet; pass "revision": "refs/convert/parquet", '
            'or a local copy of the release\'s file as {"path": ...}'
        )
    resolved = revision or _resolved(info)
    if revision is None:
        log.warning("hub data set %s, split %s: no revision is pinned; the latest resolved to %s", repo, split, resolved)
    return [Record(f"{repo}@{resolved}/{split}", number, dict(row)) for number, row in enumerate(rows, 1)], resolved


def _resolved(info: object) -> str:
    """The commit that `datasets` downloaded from, as far as its record of the download tells."""
    urls = getattr(info, "download_checksums", None) or {}
    commits = {match.group(1) for url in urls if (match := _COMMIT.search(str(url)))}
    return commits.pop() if len(commits) == 1 else "unknown"


def _unreachable(source: dict, error: Exception) -> DataError:
    first = str(error).strip().split("\n")[0]
    return DataError(
        f"hub data set {source['hub']} (config {source.get('config')}, split {source.get('split')}, revision {source.get('revision')}) "
        f"could not be read: {type(error).__name__}: {first}; without the hub, put the release's own file anywhere and pass it "
        'as {"path": "data/raw/<set>/<file>"} (.jsonl, .json or .parquet, plain or .gz)'
    )
