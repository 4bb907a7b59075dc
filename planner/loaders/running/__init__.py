"""Readers of what runs: manifests of Kubernetes, compose files, command lines of engines."""

from __future__ import annotations

from planner.loaders.running.files import read_running
from planner.loaders.running.settings import read_settings

__all__ = ["read_running", "read_settings"]
