"""Which engine a command line starts, and in which layout; each engine counts its degrees in its own way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.loaders.messages import show
from planner.loaders.running.options import Parsed, parsed
from planner.loaders.yaml_source import parse_value
from planner.schema.choice import Role
from planner.schema.engine_options import EngineOptions
from planner.schema.running import Started

VLLM, SGLANG, TRTLLM = "vllm", "sglang", "tensorrt-llm"
_MODULES = {
    "vllm.entrypoints.openai.api_server": VLLM,
    "vllm.entrypoints.api_server": VLLM,
    "sglang.launch_server": SGLANG,
}
_IMAGES = {"vllm-openai": VLLM}
"""Images whose entry point is the server."""
_AUTO = ("auto", "")


@dataclass
class Layout:
    """What a command line says of a replica; None: it does not, or not readably."""

    engine: str
    model: str | None = None
    tp: int | None = 1
    pp: int | None = 1
    ep: int | None = 1
    attention_dp: int | None = 1
    copies: int | None = 1
    """Replicas that the one command line starts."""
    quantization: str | None = None
    kv: str | None = None
    served_as: str | None = None
    role: Role | None = None
    servers: int = 1
    """That one replica spans by its command line."""
    follows: bool = False
    """A further server of a replica whose first server has a command line of its own."""
    unread: list[str] = field(default_factory=list)

    @property
    def gpus(self) -> int | None:
        """Of one replica."""
        if self.tp is None or self.pp is None or self.attention_dp is None:
            return None
        return self.tp * self.pp * self.attention_dp


def engine_of(words: Sequence[str], image: str = "") -> tuple[str, tuple[str, ...]] | None:
    """The engine that words start, and its arguments; None where they start none."""
    names = [word.rsplit("/", 1)[-1] for word in words]
    for place, name in enumerate(names):
        after = tuple(words[place + 1 :])
        if name == "vllm" and after[:1] == ("serve",):
            return VLLM, after[1:]
        if name == "trtllm-serve":
            return TRTLLM, after[1:] if after[:1] == ("serve",) else after
        if name == "sglang" and after[:1] == ("serve",):
            return SGLANG, after[1:]
        if name == "-m" and after and after[0] in _MODULES:
            return _MODULES[after[0]], after[1:]
        engine = _of_image(words[place])
        if engine is not None and "docker" in names[:place]:
            return engine, after
    engine = _of_image(image)
    # Some other program in the image (a probe, a shell) is no server: its arguments begin with options.
    if engine is not None and all(word.startswith("-") for word in words[:1]):
        return engine, tuple(words)
    return None


def _of_image(image: str) -> str | None:
    name = image.rsplit("/", 1)[-1].partition(":")[0].partition("@")[0]
    return _IMAGES.get(name)


def layout_of(
    started: Started, engine: str, words: Sequence[str], tables: Mapping[str, EngineOptions]
) -> Layout:
    """The layout that a command line, and what is stated beside it, give a replica."""
    options = parsed(words, tables[engine], tables[engine].earlier)
    found = _READERS[engine](started, options)
    found.model = _model(started, found, options)
    found.unread += options.unread
    for word in options.positionals[1:] if engine != SGLANG else options.positionals:
        found.unread.append(f"the word {show(word)} belongs to no option")
    return found


def _model(started: Started, found: Layout, options: Parsed) -> str | None:
    said = found.model if found.model is not None else next(iter(options.positionals), None)
    # KServe loads the model that it names into a folder of the server.
    if started.model and (said is None or said.startswith("/mnt/")):
        return started.model.removeprefix("hf://")
    return said


def _number(found: Layout, options: Parsed, default: int | None, *names: str) -> int | None:
    """A degree; None, and said, where it is no number."""
    text = options.text(*names)
    if text is None:
        return default
    if text.isdigit() and int(text) > 0:
        return int(text)
    found.unread.append(f"{names[0]} is {show(text)}, no number")
    return None


def _count(options: Parsed, name: str) -> int:
    """A rank; 0 where it is none, or known only where the server runs."""
    text = options.text(name) or "0"
    return int(text) if text.isdigit() else 0


def _stated(started: Started, name: str) -> int:
    return int(started.stated.get(name, 1))


def _vllm(started: Started, options: Parsed) -> Layout:
    """Data parallelism multiplies the tensor-parallel degree; expert parallelism is over both."""
    found = Layout(VLLM, model=options.text("--model"))
    found.tp = _number(found, options, _stated(started, "tp"), "--tensor-parallel-size")
    found.pp = _number(found, options, _stated(started, "pp"), "--pipeline-parallel-size")
    found.attention_dp = _number(found, options, _stated(started, "dp"), "--data-parallel-size")
    found.ep = 1
    if options.is_on("--enable-expert-parallel") or started.stated.get("ep"):
        known = found.tp is not None and found.attention_dp is not None
        found.ep = (found.tp or 1) * (found.attention_dp or 1) if known else None
    local = _number(found, options, found.attention_dp, "--data-parallel-size-local") or 1
    nodes = _number(found, options, 1, "--nnodes") or 1
    found.servers = max(nodes, (found.attention_dp or 1) // local)
    first = _count(options, "--node-rank") == 0 and _count(options, "--data-parallel-start-rank") == 0
    found.follows = options.is_on("--headless") or not first
    found.quantization = options.text("--quantization")
    found.kv, found.served_as = options.text("--kv-cache-dtype"), options.text("--served-model-name")
    if options.text("--config") is not None:
        found.unread.append(f"the options in {show(options.values['--config'])}")
    transfer = options.text("--kv-transfer-config")
    if transfer is not None:
        roles: dict[str, Role] = {"kv_producer": "prefill", "kv_consumer": "decode"}
        found.role = roles.get(str(json_object(transfer).get("kv_role")))
    return found


def _sglang(started: Started, options: Parsed) -> Layout:
    """Attention-data-parallel groups lie inside the tensor-parallel degree; plain ones are replicas."""
    found = Layout(SGLANG, model=options.text("--model-path"))
    whole = _number(found, options, _stated(started, "tp"), "--tp-size")
    found.pp = _number(found, options, _stated(started, "pp"), "--pp-size")
    found.ep = _number(found, options, 1, "--ep-size")
    plain = _number(found, options, 1, "--dp-size")
    groups = _number(found, options, 1, "--attn-dp-size")
    if options.is_on("--enable-dp-attention"):
        groups, plain = plain, 1
    found.attention_dp, found.copies = groups, plain
    if whole is None or groups is None:
        found.tp = None
    elif whole % groups:
        found.tp = None
        found.unread.append(f"{groups} attention groups in a tensor-parallel degree of {whole}")
    else:
        found.tp = whole // groups
    found.servers = _number(found, options, 1, "--nnodes") or 1
    found.follows = _count(options, "--node-rank") != 0
    found.quantization, found.kv = options.text("--quantization"), options.text("--kv-cache-dtype")
    found.served_as = options.text("--served-model-name")
    role: dict[str, Role] = {"prefill": "prefill", "decode": "decode"}
    found.role = role.get(options.text("--disaggregation-mode") or "")
    if options.text("--config") is not None:
        found.unread.append(f"the options in {show(options.values['--config'])}")
    return found


def _trtllm(started: Started, options: Parsed) -> Layout:
    """Attention data parallelism, where the configuration file turns it on, takes the whole group."""
    found = Layout(TRTLLM)
    group = _number(found, options, _stated(started, "tp"), "--tensor_parallel_size")
    found.pp = _number(found, options, _stated(started, "pp"), "--pipeline_parallel_size")
    found.ep = _number(found, options, 1, "--moe_expert_parallel_size")
    config = configuration(started, options)
    if config is None:
        named = show(options.values["--config"])
        found.unread.append(f"{named}, which may turn attention data parallelism on")
        config = {}
    attention = (
        options.is_on("--enable_attention_dp") or str(config.get("enable_attention_dp")).lower() == "true"
    )
    found.tp, found.attention_dp = (1, group) if attention else (group, 1)
    cache = config.get("kv_cache_config")
    kv = cache.get("dtype") if isinstance(cache, Mapping) else None
    found.kv = None if kv is None else str(kv)
    return found


_READERS: Mapping[str, Callable[[Started, Parsed], Layout]] = {VLLM: _vllm, SGLANG: _sglang, TRTLLM: _trtllm}


def configuration(started: Started, options: Parsed) -> Mapping[str, Any] | None:
    """What the file holds that ``--config`` names, empty where none is named; None: it is not there."""
    named = options.text("--config")
    if named is None:
        return {}
    text = _file(started, named)
    return None if text is None else _yaml(text)


def _file(started: Started, named: str) -> str | None:
    """A configuration file out of the same manifests, or beside them."""
    name = named.rsplit("/", 1)[-1]
    if name in started.configs:
        return started.configs[name]
    path = started.folder / name
    try:
        return path.read_text(encoding="utf-8") if name and path.is_file() else None
    except (OSError, ValueError):
        return None


def _yaml(text: str) -> Mapping[str, Any]:
    _, value, _ = parse_value(text.encode(), "configuration")
    return value if isinstance(value, dict) else {}


def json_object(text: str) -> Mapping[str, Any]:
    """An object in JSON; empty where the text is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def with_auto(text: str | None) -> str | None:
    """A format that is named; None for ``auto``."""
    return None if text is None or text.lower() in _AUTO else text
