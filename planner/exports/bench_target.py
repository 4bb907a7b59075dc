"""What a load test is put on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.exports.load_sample import LoadSample
from planner.schema.workload import Workload

URL = "http://localhost:8000"
"""Where the system answers, if nothing else is said."""


@dataclass(frozen=True)
class BenchTarget:
    """One workload of the plan with its requests."""

    workload: Workload
    name: str
    """Of its files: a DNS label."""
    served_name: str
    tokenizer: str
    engine: str
    headers: Mapping[str, str]
    """That tell the gateway which workload it is."""
    sample: LoadSample

    @property
    def trace_jsonl(self) -> str:
        """The requests in the layout of the Mooncake traces."""
        return f"load-{self.name}.jsonl"

    @property
    def azure_csv(self) -> str:
        """In that of the Azure traces."""
        return f"load-{self.name}.azure.csv"

    @property
    def burstgpt_csv(self) -> str:
        """In that of the BurstGPT traces."""
        return f"load-{self.name}.burstgpt.csv"

    @property
    def guidellm_yaml(self) -> str:
        """The scenario of GuideLLM."""
        return f"guidellm-{self.name}.yaml"

    @property
    def inference_perf_yaml(self) -> str:
        """The configuration of inference-perf."""
        return f"inference-perf-{self.name}.yaml"
