"""Planning rules: judgment about candidates as data, over declared attributes only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from planner.errors import nearest
from planner.schema.base import Noun

AttributeKind = Literal["number", "flag", "name"]
Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not-in"]
Value = (
    Annotated[bool, Field(strict=True)] | Annotated[int, Field(strict=True)] | Decimal | str | tuple[str, ...]
)


@dataclass(frozen=True)
class Attribute:
    """One thing that rules may ask about a candidate."""

    kind: AttributeKind
    meaning: str


ATTRIBUTES: Mapping[str, Attribute] = {
    "tp": Attribute("number", "GPUs that share every layer (tensor parallelism)"),
    "pp": Attribute("number", "stages of layers (pipeline parallelism)"),
    "ep": Attribute("number", "GPUs that share the experts (expert parallelism)"),
    "attention_dp": Attribute("number", "copies of the attention inside one replica"),
    "gpus_per_replica": Attribute("number", "GPUs of one replica"),
    "node_gpus": Attribute("number", "GPUs of the server or instance"),
    "link_kind": Attribute("name", "fast link: nvlink, nvlink-bridge, xgmi, ici, roce, neuronlink or none"),
    "link_domain_gpus": Attribute("number", "GPUs that share the fast link; 1 without one"),
    "fast_link": Attribute("flag", "the tensor-parallel group lies on one fast link"),
    "measured_all_reduce": Attribute(
        "flag", "the catalog holds a measured all-reduce for a group of this size"
    ),
    "spans_servers": Attribute("flag", "one replica takes more than one server"),
    "part_of_server": Attribute(
        "flag", "instances without a fabric: parts of servers, or one GPU and no stated network"
    ),
    "weights_format": Attribute("name", "number format of the weights"),
    "kv_format": Attribute("name", "number format of the KV cache"),
    "weights_bits": Attribute("number", "bits of a weight, scales not counted"),
    "kv_bits": Attribute("number", "bits of a cached value, scales not counted"),
    "weights_native": Attribute("flag", "the matrix units multiply the weight format directly"),
    "weights_supported": Attribute("flag", "the engine loads weights of this format"),
    "kv_supported": Attribute("flag", "the engine keeps its KV cache in this format"),
    "vendor_supported": Attribute("flag", "the engine runs on accelerators of this vendor"),
    "attention_dp_supported": Attribute("flag", "the engine can copy the attention inside a replica"),
    "pipeline_supported": Attribute("flag", "the engine can split layers into stages"),
    "smallest_tp_that_fits": Attribute(
        "number", "lowest tensor-parallel degree that holds the model in this format"
    ),
    "fits_one_node": Attribute(
        "flag", "some tensor-parallel degree within a server holds the model in this format"
    ),
    "draft_kind": Attribute("name", "who writes drafts to verify: draft-model, ngram, eagle or none"),
    "draft_tokens": Attribute("number", "drafts verified in one step; 0 without speculative decoding"),
    "draft_acceptance_percent": Attribute("number", "share of drafts that are accepted, in percent"),
    "draft_vocabulary_matches": Attribute("flag", "drafts are tokens of the model that verifies them"),
    "speculation_supported": Attribute("flag", "the engine verifies drafts of this kind"),
    "token_eviction": Attribute("flag", "tokens are dropped from the KV of running requests"),
    "prefix_cache": Attribute("flag", "KV of finished requests is kept to be found again"),
    "kv_offload": Attribute("name", "where KV is kept outside the GPU: host, nvme or none"),
    "kv_offload_supported": Attribute("flag", "the engine can keep KV there"),
    "waits_limited": Attribute("flag", "time to first token or end-to-end time is limited"),
    "weights_sparse": Attribute("flag", "the weights are in a 2:4 sparse format"),
    "skips_zeros": Attribute("flag", "the matrix units skip the zeros of the sparse format"),
    "expert_imbalance_percent": Attribute(
        "number", "tokens of the hottest rank over the mean, in percent; 0 where not stated"
    ),
    "expert_capacity_percent": Attribute(
        "number", "tokens that a rank has room for over the mean, in percent; 0 without a cap"
    ),
    "network_mb_per_s": Attribute(
        "number", "network between servers, one way and per GPU, in MB/s; 0 inside one server"
    ),
    "adapters": Attribute("number", "LoRA adapters in use at once"),
    "adapters_supported": Attribute("flag", "the engine serves LoRA adapters"),
    "role": Attribute("name", "serve, or prefill and decode where serving is disaggregated"),
    "kv_transfer_supported": Attribute("flag", "the engine hands KV caches between workers of this layout"),
    "is_moe": Attribute("flag", "the model has mixture-of-experts layers"),
    "architecture": Attribute("name", "architecture of the accelerator, such as hopper"),
    "engine": Attribute("name", "id of the serving engine"),
}
"""The attributes of a candidate that rules may name; nothing else is visible to them."""

OPERATORS: Mapping[AttributeKind, tuple[Operator, ...]] = {
    "number": ("==", "!=", "<", "<=", ">", ">="),
    "flag": ("==", "!="),
    "name": ("==", "!=", "in", "not-in"),
}


class Condition(Noun):
    """A comparison of one attribute, or several conditions joined by all, any or not.

    Holds either ``attribute``, ``op`` and one of ``value`` and ``attribute2``, or exactly one of
    ``all``, ``any``, ``not``.
    """

    attribute: str | None = None
    op: Operator | None = None
    value: Value | None = None
    attribute2: str | None = None
    """Compare with this attribute instead of a value."""
    all_of: Annotated[tuple[Condition, ...], Field(min_length=1)] | None = Field(default=None, alias="all")
    any_of: Annotated[tuple[Condition, ...], Field(min_length=1)] | None = Field(default=None, alias="any")
    none_of: Condition | None = Field(default=None, alias="not")

    @model_validator(mode="after")
    def _one_form(self) -> Condition:
        joined = [part for part in (self.all_of, self.any_of, self.none_of) if part is not None]
        if self.attribute is None:
            if (
                len(joined) != 1
                or self.op is not None
                or self.value is not None
                or self.attribute2 is not None
            ):
                raise _refused("no comparison and no join", "attribute and op, or one of all, any, not")
            return self
        if joined:
            raise _refused("a comparison and a join", "attribute and op, or one of all, any, not")
        self._check_comparison(self.attribute)
        return self

    def _check_comparison(self, attribute: str) -> None:
        known = _declared(attribute)
        if self.op not in OPERATORS[known.kind]:
            found = "no op" if self.op is None else f'op "{self.op}" on {attribute}'
            raise _refused(found, f"one of {', '.join(OPERATORS[known.kind])}")
        if (self.value is None) == (self.attribute2 is None):
            raise _refused("both or neither of value and attribute2", "one of them")
        if self.attribute2 is not None:
            if _declared(self.attribute2).kind != known.kind:
                raise _refused(f"{attribute} compared with {self.attribute2}", f"another {known.kind}")
        elif not _fits(self.value, known.kind, self.op):
            raise _refused(f"value {self.value} for {attribute}", _VALUES[known.kind])

    def attributes(self) -> Iterator[str]:
        """Every attribute named in here."""
        yield from (name for name in (self.attribute, self.attribute2) if name is not None)
        for part in (*(self.all_of or ()), *(self.any_of or ()), *((self.none_of,) if self.none_of else ())):
            yield from part.attributes()


_VALUES: Mapping[AttributeKind, str] = {
    "number": "a number",
    "flag": "true or false",
    "name": "a name, or a list of names with in and not-in",
}


def _declared(name: str) -> Attribute:
    if name not in ATTRIBUTES:
        raise _refused(f'the attribute "{name}"', "a declared attribute", nearest(name, tuple(ATTRIBUTES)))
    return ATTRIBUTES[name]


def _fits(value: object, kind: AttributeKind, op: str | None) -> bool:
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | Decimal) and not isinstance(value, bool)
    return isinstance(value, tuple) if op in ("in", "not-in") else isinstance(value, str)


class RuleSource(Noun):
    """Where a rule comes from."""

    document: str
    section: str


class PlanningRule(Noun):
    """A judgment about candidates.

    It finds a candidate when ``when`` holds and ``require``, if there is one, does not. Then
    ``refuse`` takes the candidate out, ``prefer`` ranks it behind equals, and ``adjust`` changes
    how it is counted (``knob``).
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    """The condition it finds, not the cure; equal to the file's name."""
    title: str
    effect: Literal["refuse", "prefer", "adjust"]
    because: str
    """Why, in a sentence or two."""
    when: Condition
    require: Condition | None = None
    knob: str
    """What would have to change, or what is adjusted."""
    source: RuleSource | tuple[RuleSource, ...]

    def attributes(self) -> frozenset[str]:
        """Every attribute the rule asks about."""
        named = [*self.when.attributes(), *(self.require.attributes() if self.require else ())]
        return frozenset(named)


def _refused(found: str, expected: str, maybe: str = "") -> PydanticCustomError:
    return PydanticCustomError(
        "rule", "found {found}, expected {expected}", {"found": found, "expected": expected, "maybe": maybe}
    )
