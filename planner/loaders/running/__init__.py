"""Readers of what runs: manifests of Kubernetes, compose files, command lines of engines."""

from __future__ import annotations

from planner.loaders.running.files import read_running

__all__ = ["read_running"]
