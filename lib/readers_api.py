"""Readers without a local model: an OpenAI-compatible endpoint, and the replay of recorded answers (SPEC 5)."""
from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from lib.reader_spec import Generation, ReaderError, full_spec

BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})  # worth another try; any other status is not


class EndpointReader:
    """Greedy answers of a served model through /completions or /chat/completions; one request a prompt."""

    def __init__(self, spec: Mapping[str, Any], sleep: Callable[[float], None] = time.sleep) -> None:
        import httpx

        self.spec, self._sleep = full_spec(spec), sleep
        if not self.spec["base_url"]:
            raise ReaderError("an endpoint reader needs base_url, for example http://127.0.0.1:8000/v1")
        key = os.environ.get(self.spec["api_key_env"])
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(timeout=self.spec["timeout_s"], headers=headers)
        self._url = self.spec["base_url"].rstrip("/") + ("/chat/completions" if self.spec["api"] == "chat" else "/completions")

    def generate(self, prompts: Sequence[str]) -> list[Generation]:
        """One Generation a prompt, in order; raises ReaderError after the last try."""
        with ThreadPoolExecutor(max_workers=self.spec["concurrency"]) as pool:
            return list(pool.map(self._answer, prompts))

    def _answer(self, prompt: str) -> Generation:
        asked = {"messages": [{"role": "user", "content": prompt}]} if self.spec["api"] == "chat" else {"prompt": prompt}
        body = self._post({"model": self.spec["model"], "max_tokens": self.spec["max_new_tokens"], "temperature": 0,
                           "stop": ["\n"], **asked})
        try:
            choice = body["choices"][0]
            text = choice["message"]["content"] if self.spec["api"] == "chat" else choice["text"]
        except (KeyError, IndexError, TypeError) as error:
            raise ReaderError(f"{self._url}: the reply holds no choices[0] text ({error!r}); is it an OpenAI-compatible "
                              f"{self.spec['api']} route?") from error
        return Generation(_text(self._url, text), *_counts(self._url, body.get("usage")))

    def _post(self, body: dict[str, Any]) -> Any:
        import httpx

        tries, reason = self.spec["retries"] + 1, ""
        for attempt in range(tries):
            if attempt:  # 0.5, 1, 2, ... seconds, spread so that parallel requests do not come back together
                self._sleep(min(30.0, 0.5 * 2 ** (attempt - 1)) * random.uniform(1.0, 1.5))
            try:
                reply = self._client.post(self._url, json=body)
            except httpx.TransportError as error:  # no connection, a timeout, a cut reply
                reason = f"{type(error).__name__}: {error}"
                continue
            if reply.status_code == 200:
                return _json(self._url, reply)
            reason = f"status {reply.status_code}: {reply.text[:200]}"
            if reply.status_code not in BUSY:
                break
        hint = f"; the key is read from the environment variable {self.spec['api_key_env']}" if "status 401" in reason else ""
        raise ReaderError(f"{self._url} gave no answer after {attempt + 1} of {tries} tries ({reason}){hint}. Answers so far "
                          "are stored: run again to go on")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _json(url: str, reply: Any) -> Any:
    try:
        return reply.json()
    except ValueError as error:
        raise ReaderError(f"{url}: the reply is not JSON: {reply.text[:200]!r}") from error


def _text(url: str, text: Any) -> str:
    """The reply's text, if it can be stored; what is wrong here must not reach the store."""
    if not isinstance(text, str):
        raise ReaderError(f"{url}: the reply's text is {text!r}, not a string; nothing of this batch was stored")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ReaderError(f"{url}: the reply's text holds half a character ({error.reason}): {text[:200]!a}; nothing of this batch "
                          "was stored") from error
    return text


def _counts(url: str, usage: Any) -> list[int | None]:
    """Prompt and new tokens of a reply, None where it does not tell them."""
    usage = {} if usage is None else usage
    counts = [usage.get("prompt_tokens"), usage.get("completion_tokens")] if isinstance(usage, Mapping) else []
    if not counts or any(count is not None and (type(count) is not int or count < 0) for count in counts):
        raise ReaderError(f"{url}: the reply's usage has to hold whole numbers of tokens, got {usage!r}; nothing of this batch was stored")
    return counts


class ReplayReader:
    """Recorded answers only: it never answers a prompt that the store does not hold."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = full_spec(spec)

    def generate(self, prompts: Sequence[str]) -> list[Generation]:
        """Raises ReaderError: whatever reaches a replay is not recorded."""
        model, precision = self.spec["model"], self.spec["precision"]
        raise ReaderError(f"{model} {precision}: a prompt is in no layer of the store (a changed parameter, prompt or context "
                          f"changes the key), and backend replay runs no model. Run it live: `python -m lib.weights {model}`, "
                          f"then backend transformers (`make live`); `make record` keeps the answers")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass
