"""The endpoint reader against a stub server on this machine."""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from lib import reading, tables
from lib.reader_spec import Generation, ReaderError
from lib.readers import read_prompts
from lib.readers_api import EndpointReader
from lib.store import Store


class Stub(BaseHTTPRequestHandler):
    """Plays the server's script: a list of (status, body) used up in order, then the normal reply."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, dict(self.headers), body))
        status, reply = self.server.script.pop(0) if self.server.script else (200, None)
        data = reply if isinstance(reply, bytes) else json.dumps(reply or self.answer(body)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def answer(self, body):
        usage = {"prompt_tokens": 7, "completion_tokens": 2}
        if self.path.endswith("/chat/completions"):
            return {"choices": [{"message": {"content": "chat " + body["messages"][0]["content"]}}], "usage": usage}
        return {"choices": [{"text": " " + body["prompt"]}], "usage": usage}

    def log_message(self, *args):
        pass


class Quiet(ThreadingHTTPServer):
    """A stub that does not print when a client gave up waiting."""

    def handle_error(self, request, client_address):
        pass


@pytest.fixture
def server():
    with Quiet(("127.0.0.1", 0), Stub) as http:
        http.seen, http.script = [], []
        threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield http
        http.shutdown()


def spec(server, **more):
    return {"model": "served", "backend": "endpoint", "base_url": f"http://127.0.0.1:{server.server_port}/v1", "timeout_s": 5.0, **more}


def ask(server, prompts, **more):
    waits = []
    with EndpointReader(spec(server, **more), sleep=waits.append) as reader:
        return reader.generate(prompts), waits


def test_completions_are_greedy_short_and_in_order(server):
    prompts = [f"p{n}" for n in range(20)]
    answers, waits = ask(server, prompts)
    assert answers == [Generation(f" {prompt}", 7, 2) for prompt in prompts] and waits == []
    path, _, body = server.seen[0]
    assert path == "/v1/completions" and body["model"] == "served"
    assert (body["temperature"], body["max_tokens"], body["stop"]) == (0, 16, ["\n"])


def test_chat_sends_the_prompt_as_the_user(server):
    answers, _ = ask(server, ["hello"], api="chat")
    assert answers[0].text == "chat hello"
    assert server.seen[0][0] == "/v1/chat/completions" and server.seen[0][2]["messages"] == [{"role": "user", "content": "hello"}]


def test_a_busy_server_is_asked_again_with_growing_waits(server):
    server.script += [(503, {"error": "busy"}), (429, {"error": "slow down"}), (500, b"oops")]
    answers, waits = ask(server, ["a"])
    assert answers[0].text == " a" and len(server.seen) == 4
    assert len(waits) == 3 and waits == sorted(waits) and 0.5 <= waits[0] <= 0.75


def test_a_server_that_stays_busy_is_one_clear_error(server):
    server.script += [(503, {"error": "busy"})] * 10
    with pytest.raises(ReaderError, match=r"/v1/completions gave no answer after 3 of 3 tries \(status 503.*run again to go on"):
        ask(server, ["a"], retries=2)
    assert len(server.seen) == 3


def test_a_refused_request_is_not_repeated(server):
    server.script += [(400, {"error": "max_tokens too large"})]
    with pytest.raises(ReaderError, match=r"after 1 of 5 tries \(status 400: .*max_tokens too large"):
        ask(server, ["a"])
    assert len(server.seen) == 1


def test_the_key_comes_from_the_environment_and_is_never_shown(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-value")
    server.script += [(401, {"error": "bad key"})]
    with pytest.raises(ReaderError, match="environment variable MY_KEY") as error:
        ask(server, ["a"], api_key_env="MY_KEY")
    assert server.seen[0][1]["Authorization"] == "Bearer secret-value" and "secret-value" not in str(error.value)


def test_no_key_no_header(server, monkeypatch):
    monkeypatch.delenv("READER_API_KEY", raising=False)
    ask(server, ["a"])
    assert "Authorization" not in server.seen[0][1]


@pytest.mark.parametrize("reply, message", [(b"<html>", "is not JSON"), ({"choices": []}, r"holds no choices\[0\] text"),
                                            ({"object": "list"}, r"holds no choices\[0\] text")])
def test_an_odd_reply_is_one_clear_error(server, reply, message):
    server.script += [(200, reply)]
    with pytest.raises(ReaderError, match=message):
        ask(server, ["a"])


def test_a_reply_without_usage_leaves_the_counts_missing(server):
    server.script += [(200, {"choices": [{"text": " a"}]})]
    assert ask(server, ["a"])[0] == [Generation(" a", None, None)]


@pytest.mark.parametrize("text", [None, 3, ["a"], "half \ud800"])
@pytest.mark.parametrize("api", ["completions", "chat"])
def test_a_text_that_cannot_be_stored_is_refused_before_it_is(server, tmp_path, api, text):
    server.script += [(200, {"choices": [{"text": text, "message": {"content": text}}]})]
    store = Store(tmp_path / "recorded", tmp_path / "store")
    with pytest.raises(ReaderError, match="the reply's text (is|holds half a character).*nothing of this batch was stored"):
        read_prompts(["a"], spec(server, api=api), store)
    assert store.groups() == []


@pytest.mark.parametrize("usage", [{"prompt_tokens": "7"}, {"completion_tokens": 1.5}, {"prompt_tokens": True}, {"prompt_tokens": -1}, [7], "7"])
def test_counts_that_are_no_whole_numbers_are_refused(server, usage):
    server.script += [(200, {"choices": [{"text": " a"}], "usage": usage})]
    with pytest.raises(ReaderError, match="usage has to hold whole numbers"):
        ask(server, ["a"])


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}])
def test_an_answer_without_counts_fits_the_answers_table(server, tmp_path, usage):
    server.script += [(200, {"choices": [{"text": " Edda"}], "usage": usage})]
    asked = pd.DataFrame({"dataset": ["hotpotqa"], "qid": ["a"], "context_hash": ["c"], "prompt": ["Who?"], "answers": [["Edda"]]})
    answers = tables.check(reading.read_all(asked, [spec(server)], Store(tmp_path / "recorded", tmp_path / "store")), "answers")
    assert answers["em"].tolist() == [1.0] and answers[["n_prompt_tokens", "n_new_tokens"]].isna().all(axis=None)


def test_no_server_is_one_clear_error_after_its_tries(server):
    address = spec(server)
    server.shutdown(), server.server_close()
    waits = []
    with EndpointReader({**address, "retries": 2}, sleep=waits.append) as reader, pytest.raises(ReaderError, match="ConnectError"):
        reader.generate(["a"])
    assert len(waits) == 2


def test_a_server_that_never_replies_times_out(server, monkeypatch):
    hold = threading.Event()
    monkeypatch.setattr(Stub, "answer", lambda self, body: hold.wait(5) and {})
    try:
        with pytest.raises(ReaderError, match="ReadTimeout"):
            ask(server, ["a"], timeout_s=0.05, retries=1)
    finally:
        hold.set()
