"""A service in this process, and a problem that is planned in a moment."""

import re
from contextlib import contextmanager

from starlette.testclient import TestClient

from planner.serve.application import application
from planner.serve.desk import Desk, Limits
from planner.serve.guard import Keys
from planner.serve.history import History

PROBLEM = """\
name: small
workloads:
  - name: chat
    model: qwen3-8b
    demand: {peak_rps: 4}
    lengths: {input: {fixed: 500}, output: {fixed: 100}}
    slo: {ttft_p99: 2 s, itl_p99: 80 ms}
    precision: {weights: [bf16], kv: [bf16]}
fleet: {accelerators: [l40s], prices: {l40s: 1.5 USD/h}, max_gpus: 8}
search: {modes: [aggregated], tp: [1], max_batch: [64], batched_tokens: [2048]}
"""

DAY = PROBLEM.replace("{peak_rps: 4}", "{hourly_rps: [1, 4, 9]}").replace(
    "prices: {l40s: 1.5 USD/h}, max_gpus: 8",
    "supply: [{gpu: l40s, term: on_demand, usd_per_gpu_h: 1.5}]",
)
"""The same over three hours."""

LONG = PROBLEM.replace("max_gpus: 8", "max_gpus: 800").replace(
    "accelerators: [l40s], prices: {l40s: 1.5 USD/h}, ", ""
)
LONG = re.sub(r"search: .*\n", "", LONG).replace("peak_rps: 4", "peak_rps: 300")
"""The same for many more requests on any GPU: its search takes minutes."""

OWN = "someone/small-chat"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "max_position_embeddings": 8192,
    "vocab_size": 32000,
    "torch_dtype": "bfloat16",
}
"""A model that the catalog lacks."""


@contextmanager
def service(folder, limits=None, tokens=()):
    """A client of a new service whose jobs lie in a folder."""
    desk = Desk(History(f"sqlite:///{folder}/jobs.sqlite"), limits or Limits(workers=1))
    app = application(desk, Keys(tokens), ("testserver",), page=False)
    with TestClient(app, raise_server_exceptions=False) as client:
        client.desk = desk
        yield client
