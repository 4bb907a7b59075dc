"""A Prometheus server of a few gauges, whose values the test turns."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from tests.http_servers import reply, serving

LABELS = {"model_name": "m", "instance": "a:8000"}
CALM = {"num_requests_running": 20, "num_requests_waiting": 0, "kv_cache_usage_perc": 0.5}
FULL = {"num_requests_running": 20, "num_requests_waiting": 60, "kv_cache_usage_perc": 0.995}


@contextmanager
def prometheus_of(values, asked=None) -> Iterator[str]:
    """Its address; ``values`` gives the gauges at each round of questions, None for a server that fails.

    ``asked`` is filled with every query.
    """
    now = {}

    def handle(request, body):
        query = parse_qs(body.decode() or urlsplit(request.path).query)["query"][0]
        if asked is not None:
            asked.append(query)
        if query.startswith("count by"):
            now["values"] = values()
        if now["values"] is None:
            reply(request, b"no", status=503)
            return
        if query.startswith("count by"):
            rows = [({"__name__": f"vllm:{name}"}, 1) for name in now["values"]]
        else:
            rows = [
                ({"__name__": f"vllm:{name}", **LABELS}, value)
                for name, value in now["values"].items()
                if f'"vllm:{name}"' in query and query.startswith("{")
            ]
        result = [{"metric": labels, "value": [0, str(value)]} for labels, value in rows]
        answer = {"status": "success", "data": {"resultType": "vector", "result": result}}
        reply(request, json.dumps(answer).encode(), "application/json")

    with serving(handle) as url:
        yield url
