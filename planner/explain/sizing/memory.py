"""Sizing steps 4 to 6: the least memory, narrower formats, and how a model is split."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite

from planner import numbers
from planner.explain.phrases import is_measured, listing, pool_layout
from planner.explain.problem_values import problem_value
from planner.explain.sizing.context import Asked, Context, figure, told
from planner.schema.explanation import Figure, Step
from planner.schema.pool import Memory, Pool
from planner.schema.sizing import WorkloadSizing

FLOOR = Asked(
    4,
    "Memory floor",
    "Add up weights, the KV cache of all sequences held at the peak, activations, framework and adapters, "
    "before anything is compressed: the fewest GPUs on which it could run.",
    "2.6; 9.1, step 4",
)
QUANTIZATION = Asked(
    5,
    "Quantization",
    "Choose the formats of weights and KV, each on its own, before anything is split: they decide how many "
    "GPUs one copy needs. Sparsity only where compute still limits prompts.",
    "4.5; 9.1, step 5",
)
PARALLELISM = Asked(
    6,
    "Parallelism",
    "Split as little as holds the model: tensor parallelism within a server, pipeline stages only beyond it, "
    "experts over GPUs for mixtures of experts. Check that the link bears it.",
    "5.5; 5.6; 9.1, step 6",
)


@dataclass(frozen=True)
class Floor:
    """One copy of a model with the KV of everything that is held at the peak, on GPUs of one kind."""

    weights_bytes: float
    kv_bytes: float
    sequences: int
    usable_bytes: float
    """Of one GPU, for weights and KV."""

    @property
    def copy_gpus(self) -> int:
        """GPUs that hold the weights."""
        return _gpus(self.weights_bytes, self.usable_bytes)

    @property
    def gpus(self) -> int:
        """GPUs that hold weights and KV."""
        return _gpus(self.weights_bytes + self.kv_bytes, self.usable_bytes)


def _gpus(needed_bytes: float, usable_bytes: float) -> int:
    needed = needed_bytes / usable_bytes if usable_bytes > 0 else 0.0
    return ceil(needed) if isfinite(needed) else 0


def _main(at: Context, workload: str) -> Pool | None:
    """The pool that holds most sequences of a workload; prefill pools hand theirs over."""
    holding = [
        pool for pool in at.pools(workload) if pool.role != "prefill" and pool.memory_bytes is not None
    ]
    return max(holding, key=lambda pool: pool.replicas * pool.max_batch, default=None)


def _floor(at: Context, sizing: WorkloadSizing, pool: Pool, weights: str, kv: str) -> Floor | None:
    memory = pool.memory_bytes
    if memory is None or weights not in sizing.weights_bytes or kv not in sizing.sequence_bytes:
        return None
    holding = [other for other in at.pools(sizing.workload) if other.role != "prefill"]
    held = sum(other.replicas * other.max_batch for other in holding)
    saved_tokens = sum(_saved_tokens(other) for other in holding)
    return Floor(
        weights_bytes=sizing.weights_bytes[weights],
        kv_bytes=held * sizing.sequence_bytes[kv] - saved_tokens * sizing.token_bytes.get(kv, 0.0),
        sequences=held,
        usable_bytes=memory.weights + memory.kv_cache,
    )


def _saved_tokens(pool: Pool) -> float:
    """What the sequences of a pool read where it is held once, less that one copy in each cache."""
    if pool.reuse is None:
        return 0.0
    copies = pool.replicas * pool.attention_dp
    once, read = pool.reuse.held_once_tokens, pool.reuse.read_there_tokens
    return max(pool.replicas * pool.max_batch * read - copies * once, 0.0)


def _widest_kv(sizing: WorkloadSizing) -> str:
    return next(iter(sizing.sequence_bytes), "")


def floor(at: Context) -> Step:
    """Step 4."""
    figures: list[Figure] = []
    verdicts = []
    for name in at.workloads:
        sizing, pool, who = at.sizing(name), _main(at, name), at.of_workload(name)
        if sizing is None:
            continue
        kv = _widest_kv(sizing)
        weights_bytes = sizing.weights_bytes.get(sizing.checkpoint)
        figures.append(figure(f"weights in {sizing.checkpoint}, as published", weights_bytes, "B", who))
        figures.append(figure(f"one sequence in {kv}", sizing.sequence_bytes.get(kv), "B", who))
        found = _floor(at, sizing, pool, sizing.checkpoint, kv) if pool is not None else None
        if found is None or pool is None or pool.memory_bytes is None:
            continue
        figures += [
            figure("sequences held at the peak", found.sequences, "", who),
            figure(f"their KV in {kv}", found.kv_bytes, "B", who),
            *_rest(at, pool.memory_bytes, who),
            figure("left for weights and KV on a GPU", found.usable_bytes, "B", who),
        ]
        copy, all_of_it = numbers.count(found.copy_gpus, "GPU"), numbers.count(found.gpus, "GPU")
        verdicts.append((who, f"Uncompressed, one copy needs {copy} of {pool.gpu}, with all KV {all_of_it}."))
    return at.step(FLOOR, figures, told(verdicts))


def _rest(at: Context, memory: Memory, who: str) -> list[Figure]:
    """Activations and framework beside the rules of thumb; adapters where there are any."""
    thumbs = (
        ("activations", memory.activations, at.rules.activation_fraction * memory.weights),
        ("framework", memory.framework, at.rules.framework_fraction * memory.capacity),
    )
    rows = [
        figure(f"{name} of a GPU", f"{numbers.size(value)} (rule of thumb {numbers.size(thumb)})", of=who)
        for name, value, thumb in thumbs
    ]
    if memory.adapters:
        rows.append(figure("adapters of a GPU", memory.adapters, "B", who))
    return rows


def quantization(at: Context) -> Step:
    """Step 5."""
    figures: list[Figure] = []
    verdicts = []
    for name in at.workloads:
        sizing, pool, who = at.sizing(name), _main(at, name), at.of_workload(name)
        if not all(is_measured(item) for item in at.pools(name)) or not at.pools(name):
            figures.append(figure("allowed", _allowed(at, name), of=who))
        if sizing is None or pool is None:
            continue
        kv = _widest_kv(sizing)
        figures += _narrower(
            f"weights in {pool.weights}", sizing.weights_bytes, sizing.checkpoint, pool.weights, who
        )
        figures += _narrower(f"one sequence in {pool.kv}", sizing.sequence_bytes, kv, pool.kv, who)
        before = _floor(at, sizing, pool, sizing.checkpoint, kv)
        after = _floor(at, sizing, pool, pool.weights, pool.kv)
        if before is None or after is None:
            continue
        formats = f"weights in {pool.weights}, KV in {pool.kv}"
        if (pool.weights, pool.kv) == (sizing.checkpoint, kv):
            verdicts.append((who, f"Nothing is compressed: {formats}."))
        else:
            verdicts.append((who, _shrunk(formats, before, after)))
    return at.step(QUANTIZATION, figures, told(verdicts))


def _shrunk(formats: str, before: Floor, after: Floor) -> str:
    total, was = after.weights_bytes + after.kv_bytes, before.weights_bytes + before.kv_bytes
    saved = numbers.share(1 - total / was) if was > 0 else "0 %"
    gpus = numbers.count(after.gpus, "GPU")
    change = f"stays at {gpus}" if after.gpus == before.gpus else f"falls from {before.gpus:,} to {gpus}"
    return f"With {formats} weights and KV take {saved} less, and the floor {change}."


def _narrower(name: str, known: dict[str, float], wide: str, taken: str, who: str) -> list[Figure]:
    before, after = known.get(wide), known.get(taken)
    if after is None:
        return []
    change = f" ({numbers.signed_share(after / before - 1)})" if before and taken != wide else ""
    return [figure(name, f"{numbers.size(after)}{change}", of=who)]


def _allowed(at: Context, name: str) -> str | None:
    """Formats that the problem names."""
    parts = []
    for side in ("weights", "kv"):
        stated = problem_value(at.plan, "workloads", name, "precision", side)
        if isinstance(stated, list | tuple) and stated:
            parts.append(f"{'KV' if side == 'kv' else side} {listing([str(item) for item in stated], 'or')}")
    return ", ".join(parts) or "no formats named: down to 8 bits"


def parallelism(at: Context) -> Step:
    """Step 6."""
    figures: list[Figure] = []
    verdicts = []
    for pool in at.plan.pools:
        if is_measured(pool):
            figures.append(figure("worker", pool.option, of=at.of_pool(pool)))
            continue
        who, least = at.of_pool(pool), _least_gpus(at, pool)
        figures += [
            figure("layout", pool_layout(pool), of=who),
            figure("GPUs of a replica", pool.gpus_per_replica, "GPUs", who),
            figure("GPUs that hold the weights", least, "GPUs", who),
        ]
        verdicts.append((who, _split(pool, least)))
    off = problem_value(at.plan, "search", "rules_off")
    off = [str(rule) for rule in off] if isinstance(off, list | tuple) else []
    sentences = told(verdicts)
    if any(pool.tp > at.rules.parallel_without_link for pool in at.plan.pools):
        sentences.append(
            f"Tensor parallelism above {at.rules.parallel_without_link:.0f} wants a fast link: "
            + (f"these rules are switched off: {listing(off)}." if off else "the rules on links are kept.")
        )
    return at.step(PARALLELISM, figures, sentences, open_=bool(off))


def _least_gpus(at: Context, pool: Pool) -> int | None:
    sizing = at.sizing(pool.workload)
    found = _floor(at, sizing, pool, pool.weights, pool.kv) if sizing is not None else None
    return found.copy_gpus if found is not None else None


def _split(pool: Pool, least: int | None) -> str:
    layout = pool_layout(pool)
    if least is None or pool.gpus_per_replica < least:
        return f"A replica is {layout}."
    if pool.gpus_per_replica == least:
        return f"A replica is {layout}, the fewest GPUs that hold the weights."
    held = "one GPU holds" if least == 1 else f"{least:,} GPUs hold"
    return f"A replica is {layout} where {held} the weights: the rest buys latency and room for KV."
