"""What tools print about accelerators becomes observed values."""

from pathlib import Path

import pytest

from planner.loaders.logs import load_log_formats, read_logs
from planner.loaders.logs.devices import is_device_text, read_device_text
from planner.schema.observation import Observation

SAMPLES = Path(__file__).parents[2] / "data" / "devices"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "nvidia-smi-q.txt",
            {
                "gpu_vendor": "NVIDIA", "driver_version": 535.54, "cuda_version": 12.2, "gpus": 2,
                "gpu_model": "NVIDIA H100 80GB HBM3",
                "gpu_utilization_ratio": 0.6, "gpu_load_spread_ratio": 1.5,
                "gpu_memory_used_ratio": 40779 / 81559, "gpu_clock_ratio": 0.5, "gpu_power_ratio": 0.9,
                "gpu_temperature_c": 84, "pcie_link_ratio": 0.25, "ecc_uncorrected": 1,
                "memory_remap_failed": True, "throttle_reason": "thermal",
            },
        ),
        (
            "nvidia-smi.txt",
            {
                "gpu_vendor": "NVIDIA",
                "driver_version": 550.54, "cuda_version": 12.4, "gpus": 2, "gpu_power_ratio": 0.5,
                "gpu_memory_used_ratio": 0.5, "gpu_utilization_ratio": 0.4, "gpu_load_spread_ratio": 1.5,
            },
        ),
        ("topo-pcie.txt", {"gpus": 3, "gpu_path": "cross-socket", "link": "pcie"}),
        ("topo-nvlink.txt", {"gpus": 2, "gpu_path": "nvlink", "link": "nvlink"}),
        (
            "rocm-smi-a.txt",
            {
                "gpu_vendor": "AMD",
                "gpus": 2, "gpu_model": "AMD Instinct MI300X", "gpu_utilization_ratio": 0.6,
                "gpu_load_spread_ratio": 1.5, "gpu_memory_used_ratio": 0.8, "gpu_temperature_c": 71,
            },
        ),
        (
            "rocm-smi.txt",
            {
                "gpu_vendor": "AMD",
                "gpus": 2, "gpu_utilization_ratio": 0.6, "gpu_load_spread_ratio": 1.5,
                "gpu_memory_used_ratio": 0.8, "gpu_temperature_c": 71, "gpu_power_ratio": 0.8,
            },
        ),
    ],
)  # fmt: skip
def test_every_tool_is_read(name, expected):
    text = (SAMPLES / name).read_text()
    assert is_device_text(text)
    assert read_device_text(text) == pytest.approx(expected)
    readout = read_logs([SAMPLES / name], load_log_formats())
    assert readout.exporters == ("device-tool",)
    assert readout.observation.model_dump(exclude_none=True) == pytest.approx(expected)


def test_tools_and_logs_are_read_together(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text("GPU KV cache size: 1,000 tokens\n")
    readout = read_logs([log, SAMPLES / "topo-nvlink.txt"], load_log_formats())
    assert readout.exporters == ("vllm-log", "device-tool")
    assert (readout.observation.kv_cache_tokens, readout.observation.link) == (1000, "nvlink")


@pytest.mark.parametrize("text", ["", "hello\n", "GPU KV cache size: 10 tokens\n", "NVIDIA-SMI has failed\n"])
def test_other_text_is_none_of_it(text):
    assert not is_device_text(text)


@pytest.mark.parametrize("cut", [0, 40, 300, 900, 1500])
def test_cut_text_breaks_nothing(cut):
    for path in SAMPLES.iterdir():
        text = path.read_text()
        for part in (text[:cut], text[cut:], text.replace(" : ", " : N/A "), text.replace("0", "")):
            Observation.model_validate(read_device_text(part))
