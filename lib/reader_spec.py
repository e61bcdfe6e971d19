"""What a reader is: its Protocol, its specification, its prompts and its one extraction step (SPEC 5)."""
from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from lib.recorded import canonical
from lib.weights import REGISTRY, identity

PROMPTS = Path(__file__).resolve().parent / "prompts"
BACKENDS = ("transformers", "endpoint", "replay")
PRECISIONS = ("fp32", "bf16", "fp16", "nf4", "served")  # served: whatever number format an endpoint runs
LEAST = {"max_new_tokens": 1, "threads": 1, "retries": 0, "concurrency": 1}
DEVICE = re.compile(r"cpu|mps|cuda(:\d+)?")
# `model`: a name of lib.weights, a hub id, or a folder. `revision`: of the hub; a registered name brings its sha256, a served
# model its server, so that two servers never share answers.
DEFAULTS = {"model": None, "backend": "transformers", "revision": None, "precision": None, "device": "cpu", "max_new_tokens": 16,
            "threads": None, "base_url": None, "api": "completions", "api_key_env": "READER_API_KEY", "timeout_s": 60.0,
            "retries": 4, "concurrency": 4}


class ReaderError(RuntimeError):
    """A reader cannot be opened or did not answer."""


@dataclass(frozen=True)
class Generation:
    """A reader's raw answer; counts in its own tokens, None where an endpoint does not tell them."""

    text: str
    n_prompt_tokens: int | None
    n_new_tokens: int | None


class Reader(Protocol):
    """Anything that continues prompts: greedy, up to `max_new_tokens`, up to the first newline."""

    def generate(self, prompts: Sequence[str]) -> list[Generation]:
        """One Generation a prompt, in order."""


def full_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The specification with its defaults; raises ValueError for an unknown field or value.

    >>> full_spec({"model": "smollm2-135m"})["precision"]
    'fp32'
    """
    if not isinstance(spec, Mapping):
        raise ValueError(f"a reader is a mapping such as {{'model': 'smollm2-135m'}}, got {spec!r}")  # noqa: TRY004  (a wrong value in params.yaml, like the others)
    if unknown := set(spec) - set(DEFAULTS):
        raise ValueError(f"a reader has no field {sorted(unknown)}; known: {sorted(DEFAULTS)}")
    full = {**DEFAULTS, **spec}
    if not full["model"] or not isinstance(full["model"], str):
        raise ValueError(f"a reader needs a model: one of {sorted(REGISTRY)}, a hub id or a folder")
    if full["backend"] not in BACKENDS:
        raise ValueError(f"reader backend {full['backend']!r} is none of {BACKENDS}")
    full["precision"] = full["precision"] or ("served" if full["backend"] == "endpoint" else "fp32")
    fitting = {"transformers": PRECISIONS[:-1], "endpoint": ("served",), "replay": PRECISIONS}[full["backend"]]
    if full["precision"] not in fitting:
        raise ValueError(f"reader precision {full['precision']!r} does not go with backend {full['backend']!r}, which has {fitting}")
    if full["api"] not in ("completions", "chat"):
        raise ValueError(f"reader api {full['api']!r} is none of ('completions', 'chat')")
    _check_numbers_and_device(full)
    if full["precision"] == "served":
        full["revision"] = full["revision"] or _server(full["base_url"])
    elif full["model"] in REGISTRY:
        full["revision"] = full["revision"] or identity(full["model"])
    return full


def _check_numbers_and_device(full: Mapping[str, Any]) -> None:
    for field, least in LEAST.items():
        value = full[field]
        if not (type(value) is int and value >= least) and not (field == "threads" and value is None):
            raise ValueError(f"reader {field} has to be a whole number of at least {least}, got {value!r}")
    if not isinstance(full["device"], str) or not DEVICE.fullmatch(full["device"]):
        raise ValueError(f"reader device {full['device']!r} is none of 'cpu', 'mps', 'cuda', 'cuda:0', 'cuda:1', ...")


def _server(base_url: str | None) -> str | None:
    """Host, port and path of an address, without the scheme and any password; None without an address."""
    if base_url is None:
        return None
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"reader base_url {base_url!r} is no address; it looks like http://127.0.0.1:8000/v1")
    return parts.netloc.rpartition("@")[2].lower() + parts.path.rstrip("/")


def answer_group(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The store's group of a reader: everything but the prompt that decides its answers."""
    full = full_spec(spec)
    decoding = {"strategy": "greedy", "max_new_tokens": full["max_new_tokens"], "stop": "\n"}
    if full["api"] == "chat":
        decoding["api"] = "chat"  # the server wraps the prompt in the model's own chat template
    return {"kind": "answer", "decoding": decoding, **{field: full[field] for field in ("model", "revision", "precision")}}


def reader_id(spec: Mapping[str, Any]) -> str:
    """Twelve digits naming model, revision, precision, decoding and the texts of the prompts."""
    templates = {path.stem: path.read_text(encoding="utf-8") for path in sorted(PROMPTS.glob("*.txt"))}
    return hashlib.sha256(canonical({**answer_group(spec), "prompts": templates}).encode("utf-8")).hexdigest()[:12]


def read_template(template: str) -> str:
    """Text of lib/prompts/<template>.txt without its last newline; raises ValueError for an unknown one."""
    path = PROMPTS / f"{template}.txt"
    if not path.is_file():
        raise ValueError(f"no prompt {template!r} in lib/prompts; there are {sorted(p.stem for p in PROMPTS.glob('*.txt'))}")
    return path.read_text(encoding="utf-8").rstrip("\n")


def build_prompt(context: str, question: str, template: str = "two_shot") -> str:
    """The prompt a reader continues. `closed_book` shows no context and raises ValueError if given one.

    >>> build_prompt("", "Who?", template="closed_book").endswith("Question: Who?\\nAnswer:")
    True
    """
    text = read_template(template)
    if context and "{context}" not in text:
        raise ValueError(f"prompt {template!r} shows no context, but one of {len(context)} characters was given")
    values = {"{context}": context, "{question}": question}
    # one pass, so that braces inside a context stay as they are
    return re.sub(r"\{context\}|\{question\}", lambda match: values[match.group()], text)


def prompt_prefixes() -> list[str]:
    """The fixed beginnings of all prompts, longest first: what a backend may compute once for a whole batch."""
    texts = [read_template(path.stem) for path in PROMPTS.glob("*.txt")]
    return sorted({re.split(r"\{(?:context|question)\}", text)[0] for text in texts}, key=lambda text: (-len(text), text))


def extract_answer(raw: str) -> str:
    """The one step between raw text and prediction: the first line, stripped.

    >>> extract_answer(" Colby\\n\\nPassages:")
    'Colby'
    """
    return raw.split("\n", 1)[0].strip()
