"""A day of six hours on two layouts, as files."""

import json

import yaml

from planner.interfaces import cli

TABLE = "option,gpu,gpus,max_rps\nsmall,g,1,2\nlarge,h,1,6\n"


def written(folder, **fleet):
    """Small replicas carry 2 for 1 USD, large ones 6 for 2.50 USD: 1.75 USD/h with both in turn."""
    problem = {
        "name": "day",
        "workers": "workers.csv",
        "workloads": [{"name": "chat", "demand": {"hourly_rps": [2, 6, 6, 2, 6, 2]}}],
        "fleet": {
            "headroom": {"capacity": "0 %"},
            "supply": [
                {"gpu": "g", "term": "on_demand", "usd_per_gpu_h": 1, "provider": "p", "region": "east"},
                {"gpu": "h", "term": "on_demand", "usd_per_gpu_h": 2.5, "provider": "q", "region": "west"},
            ],
            **fleet,
        },
    }
    (folder / "workers.csv").write_text(TABLE, encoding="utf-8")
    path = folder / "day.yaml"
    path.write_text(yaml.safe_dump(problem), encoding="utf-8")
    return path


def answer(capsys, *arguments):
    code = cli.run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)
