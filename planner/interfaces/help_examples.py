"""An example for the help of every command: what somebody types first."""

from __future__ import annotations

from typer import Typer

EXAMPLES = {
    "plan": "--model Qwen/Qwen3-32B --users 50 --isl 800 --osl 300 --ttft 1s --gpu h100=16",
    "init": "--model Qwen/Qwen3-32B --rps 5 --isl 1k --osl 300 --out problem.yaml",
    "example": "3",
    "whatif": "problem.yaml --set fleet.redundancy=1",
    "relax": "problem.yaml",
    "capacity": "problem.yaml",
    "pareto": "problem.yaml --axes cost,itl",
    "alternatives": "problem.yaml -k 3",
    "robust": "problem.yaml",
    "explain": "plan.json --candidate l40s",
    "diff": "before.json after.json",
    "routes": "plan.json",
    "schedule": "plan.json",
    "export": "plan.json --to kubernetes --out deploy",
    "report": "plan.json --out report.html",
    "fit": "--model Qwen/Qwen3-32B --context 32768 --concurrency 16",
    "estimate": "--model Qwen/Qwen3-32B --gpu h100 --tp 2 --isl 800 --osl 300 --concurrency 32",
    "curve": "--model Qwen/Qwen3-32B --gpu h100 --isl 800 --osl 300",
    "validate": "measurements.csv --out predictions.csv",
    "calibrate": "benchmark.json --gpu h100 --model Qwen/Qwen3-8B --out factors.yaml",
    "measure": "--write measure.py",
    "verify": "plan.json --results benchmark.json",
    "replay": "plan.json --trace requests.csv",
    "trace": "requests.csv --columns time=ts,input=prompt_tokens,output=completion_tokens",
    "today": "--from deployments.yaml --gpu h100 --out today.json",
    "watch": "--prometheus http://localhost:9090 --fail-on degraded",
    "diagnose": "--logs engine.log --metrics http://localhost:8000/metrics",
    "serve": "--port 8080",
    "schema": "problem",
    "catalog list": "--kind accelerator",
    "catalog show": "h100",
    "catalog check": "--catalog my-catalog",
    "catalog add-model": "models/my-model/config.json --out my-model.yaml",
    "catalog new": "accelerator --id my-gpu --like l40s --out my-gpu.yaml",
    "catalog import-prices": "prices.csv --map gpu=Card --out my-catalog",
    "rules list": "",
    "rules show": "whole-servers",
    "rules check": "",
    "rules graph": "--out rules.svg",
    "rules export": "--to prometheus --engine vllm --out rules.yaml",
}


def with_examples(app: Typer, above: str = "") -> None:
    """Put its example below the help of every command of a program, and of its groups.

    Raises:
        KeyError: a command without an example.
    """
    for command in app.registered_commands:
        assert command.callback is not None, "commands are functions"
        name = above + (command.name or command.callback.__name__.replace("_", "-"))
        command.epilog = f"Example: planner {name} {EXAMPLES[name]}".rstrip()
    for group in app.registered_groups:
        assert group.typer_instance is not None, "groups are programs"
        with_examples(group.typer_instance, f"{above}{group.name} ")
