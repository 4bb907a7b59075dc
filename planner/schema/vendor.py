"""Who makes accelerators."""

from __future__ import annotations

from typing import Literal

Vendor = Literal["NVIDIA", "AMD", "Intel", "Google", "AWS"]
