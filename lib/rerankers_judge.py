"""A language model as judge of passages: prompts in, choices and texts out, each kept in the store, so that nothing is asked twice (SPEC 5, 11).

The prompts are the files of lib/prompts/rerank: an instruction, one or two worked examples, then the question. They are no readers' prompts, so a change
there makes no answer of notebook 03 stale. The wording of yes_no is the best of four tried on Qwen2.5-Coder-0.5B with seven sample questions of half 0 that
are not among those recorded, by the mean share of (gold, other) pairs in the right order: two examples, question first 0.66; passage first, four
examples 0.70; the same with the question put in words (kept) 0.76; the chat form 0.59. Seven questions decide little. The others were not varied.
"""
from __future__ import annotations

import logging
import random
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from lib import readers
from lib.reader_spec import PROMPTS, ReaderError, answer_group, full_spec
from lib.rerankers_choice import Choice, choices
from lib.store import Store, entry_key
from lib.whole import check_whole, is_number

log = logging.getLogger(__name__)
FOLDER = PROMPTS / "rerank"
NEAR = 0.2  # nats: in bf16 the log-odds of one prompt differed by up to 0.11 between two batches; fp32 is far below


def template(name: str) -> str:
    """Text of lib/prompts/rerank/<name>.txt without its last newline; raises ValueError for an unknown one."""
    path = FOLDER / f"{name}.txt"
    if not path.is_file():
        raise ValueError(f"no prompt {name!r} in lib/prompts/rerank; there are {sorted(p.stem for p in FOLDER.glob('*.txt'))}")
    return path.read_text(encoding="utf-8").rstrip("\n")


def filled(name: str, **values: str) -> str:
    """The prompt with its places filled, in one pass, so that braces inside a text stay; line breaks inside a text become spaces.

    >>> filled("yes_no", question="Who?", passage="An eel.").endswith("Passage: An eel.\\nQuestion: Who?\\nDoes the passage help to answer the question?")
    True
    """
    text = template(name)
    wanted = set(re.findall(r"\{(\w+)\}", text))
    if wanted != set(values):
        raise ValueError(f"prompt {name!r} has places for {sorted(wanted)}, got {sorted(values)}")
    return re.sub(r"\{(\w+)\}", lambda m: values[m[1]], text)


def one_line(text: str) -> str:
    """A passage on one line, as the prompts show it."""
    return " ".join(text.split())


def choice_group(spec: Mapping[str, Any], words: tuple[str, str]) -> dict[str, Any]:
    """The store's group of a model's choices: everything but the prompt that decides them."""
    full = full_spec(spec)
    return {"kind": "rerank_choice", "decoding": {"strategy": "next_token", "words": list(words)},
            **{field: full[field] for field in ("model", "revision", "precision")}}


class Judge:
    """One model that is asked many times; it is loaded at the first question that the store cannot answer, and stays open.

    ``reader``: an open reader to use instead. It may bring ``choose(prompts, words) -> list[Choice]`` of its own. ``asked`` keeps every key that was
    looked up, by group, so that exactly these can be recorded.
    """

    def __init__(self, spec: Mapping[str, Any], store: Store, reader: Any = None, batch_size: int = 16, progress: bool = False) -> None:
        self.spec, self.store, self.batch_size, self.progress = full_spec(spec), store, batch_size, progress
        self._given, self._open = reader, None
        self.asked: dict[str, tuple[dict[str, Any], dict[str, str]]] = {}

    def choose(self, prompts: Sequence[str], words: tuple[str, str]) -> list[Choice]:
        """Which of two words follows each prompt, in order; stored ones first, the rest asked in batches of similar length and stored."""
        group = choice_group(self.spec, words)
        keys = self._keys(group, prompts)
        values = self.store.get_sound(group, keys.values(), _sound)
        missing = [prompt for prompt, key in keys.items() if key not in values]
        for batch in _batches(missing, self.batch_size, self.progress):
            new = {keys[p]: list(choice) for p, choice in zip(batch, self._choices(batch, words), strict=True)}
            self.store.put_many(group, new)
            values.update(new)
        return [Choice(*values[keys[prompt]]) for prompt in prompts]

    def write(self, prompts: Sequence[str], max_new_tokens: int) -> list[dict[str, Any]]:
        """What the model writes after each prompt up to a line's end: rows of ``readers.read_prompts``, raw texts kept."""
        spec = {**self.spec, "max_new_tokens": max_new_tokens}
        keys = self._keys(answer_group(spec), prompts)
        reader, here = None, self._given is not None or self.spec["backend"] == "transformers"
        if here and len(self.store.get_many(keys.values())) < len(keys):
            reader = self._reader()
            reader.max_new_tokens = max_new_tokens
        return readers.read_prompts(prompts, spec, self.store, self.batch_size, self.progress, reader)  # other backends are opened there

    def close(self) -> None:
        """Free the model; it is loaded again when it is needed."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _keys(self, group: dict[str, Any], prompts: Sequence[str]) -> dict[str, str]:
        keys = {prompt: entry_key(group, prompt) for prompt in prompts}
        self.asked.setdefault(entry_key(group, None), (group, {}))[1].update({key: prompt for prompt, key in keys.items()})
        return keys

    def _choices(self, prompts: Sequence[str], words: tuple[str, str]) -> list[Choice]:
        if self._given is None and self.spec["backend"] != "transformers":
            raise ReaderError(f"{self.spec['model']}: {len(prompts)} choices are in no layer of the store, and backend {self.spec['backend']!r} tells no "
                              "odds of words; record them with `python -m lib.record_rerankers`, or use backend transformers")
        reader = self._reader()
        return reader.choose(prompts, words) if hasattr(reader, "choose") else choices(reader, prompts, words)

    def _reader(self) -> Any:
        if self._given is not None:
            return self._given
        if self._open is None or getattr(self._open, "model", True) is None:  # another reader that was opened since has freed this one
            self._open = readers.open_reader(self.spec)
            share(self._open)
        return self._open


def share(reader: Any) -> None:
    """Let a reader compute the fixed beginnings of the reranking prompts once; nothing where its attention is windowed (it then shares none)."""
    if getattr(reader, "prefixes", None):
        texts = [template(path.stem).split("{")[0].rstrip(" ") for path in sorted(FOLDER.glob("*.txt"))]
        reader.prefixes = {text: reader.tokenizer(text)["input_ids"] for text in texts} | reader.prefixes


def regenerate(judge: Judge, words: tuple[str, str], prompts: Sequence[str], n: int = 20, seed: int = 0) -> dict[str, Any]:
    """Ask a random sample of stored prompts live and compare: {n, same, agreement in [0, 1], largest (nats), differing}; nothing is stored.

    The same: log-odds within ``NEAR`` nats. Raises ReaderError where no prompt is stored.
    """
    check_whole("n", n, 1, mend=": so many prompts are asked again")
    group = choice_group(judge.spec, words)
    stored = judge.store.get_sound(group, [entry_key(group, p) for p in set(prompts)], _sound)
    known = sorted(p for p in set(prompts) if entry_key(group, p) in stored)
    if not known:
        raise ReaderError(f"{group['model']} {group['precision']}: none of {len(set(prompts))} prompts has a stored choice to compare with")
    sample = random.Random(seed).sample(known, min(n, len(known)))
    live = {p: c for batch in _batches(sample, judge.batch_size, False) for p, c in zip(batch, judge._choices(batch, words), strict=True)}
    pairs = [(p, stored[entry_key(group, p)][0], live[p].log_odds) for p in sample]
    differing = [pair for pair in pairs if abs(pair[1] - pair[2]) > NEAR]
    same = len(pairs) - len(differing)
    return {"n": len(pairs), "same": same, "agreement": same / len(pairs), "largest": max(abs(a - b) for _, a, b in pairs), "differing": differing}


def _sound(_: str, value: object) -> bool:
    """Whether a stored value is a Choice."""
    return isinstance(value, list) and len(value) == 3 and all(map(is_number, value))


def _batches(prompts: Sequence[str], batch_size: int, progress: bool):
    from tqdm import tqdm

    ordered = sorted(prompts, key=lambda p: (-len(p), p))  # longest first: memory runs out at once or never
    quiet = not (progress and sys.stderr.isatty())
    with tqdm(total=len(ordered), unit="prompt", disable=quiet) as bar:
        for start in range(0, len(ordered), batch_size):
            yield ordered[start:start + batch_size]
            bar.update(min(batch_size, len(ordered) - start))
            if quiet and progress and (start // batch_size) % 10 == 9:
                log.info("%d of %d prompts asked", start + batch_size, len(ordered))
