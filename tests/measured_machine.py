"""A machine with PyTorch alone, of known rates, on which the script of ``planner measure`` runs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

FAKE = Path(__file__).parent / "fake_torch.py"
RATES = {
    "bf16": 8e14,
    "fp8": 1.45e15,
    "memory": 3.1e12,
    "host": 5.5e10,
    "peer": 3.8e11,
    "bus": 3e11,
    "gpus": 4,
}


def with_torch(at):
    """The folder, with a package that is taken for PyTorch."""
    (at / "torch" / "cuda").mkdir(parents=True)
    shutil.copy(FAKE, at / "torch" / "__init__.py")
    (at / "torch" / "cuda" / "__init__.py").write_text(
        "from torch import CUDA\n\nglobals().update(vars(CUDA))\n"
    )
    (at / "torch" / "cuda" / "nccl.py").write_text("from torch import all_reduce\n")
    return at


def measured(machine, *words, code=0, **rates):
    """The script run without site packages."""
    env = {"FAKE_TORCH": json.dumps(RATES | rates), "PYTHONPATH": str(machine), "PATH": os.environ["PATH"]}
    out = machine / "results.json"
    command = [sys.executable, "-S", str(machine / "measure.py"), "--out", str(out), *words]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, cwd=machine, check=False)
    assert ended.returncode == code, ended.stderr
    return json.loads(out.read_text()) if code == 0 else ended.stderr
