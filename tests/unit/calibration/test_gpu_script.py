"""The script of ``planner measure`` finds the rates of a GPU, with PyTorch alone."""

import shutil

import pytest

from planner.calibration import gpu_script
from tests.measured_machine import measured, with_torch


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    at = with_torch(tmp_path_factory.mktemp("machine"))
    shutil.copy(gpu_script.__file__, at / "measure.py")
    return at


def test_the_script_finds_the_rates_of_the_gpu(machine):
    found = measured(machine)
    assert found["product_flops_per_s"] == pytest.approx({"bf16": 8e14, "fp8": 1.45e15}, rel=1e-6)
    assert found["memory_bytes_per_s"] == pytest.approx(3.1e12, rel=1e-6)
    assert found["host_bytes_per_s"] == pytest.approx(5.5e10, rel=1e-6)
    assert [peer["gpu"] for peer in found["peers"]] == [1, 2, 3]
    assert found["peers"][0]["bytes_per_s"] == pytest.approx(3.8e11, rel=1e-6)
    assert [row["gpus"] for row in found["all_reduce"]] == [2, 4]
    assert found["all_reduce"][1]["bus_bytes_per_s"] == pytest.approx(3e11, rel=0.02)
    assert found["all_reduce"][1]["latency_s"] == pytest.approx(7e-6, rel=1e-3)
    assert found["not_measured"]["int8"] == "int8 is not supported on this device"


def test_the_script_says_that_there_is_no_gpu(machine):
    assert "PyTorch sees no GPU" in measured(machine, code=1, gpus=0)


def test_matrices_that_do_not_fit_are_left_out(machine):
    found = measured(machine, bytes=1_000_000_000, gpus=1)
    assert found["product_flops_per_s"]["bf16"] == pytest.approx(8e14, rel=1e-6)
    assert found["peers"] == found["all_reduce"] == []
