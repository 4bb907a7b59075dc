"""Logs of engines, libraries and the system, turned into observed values."""

from planner.loaders.logs.formats import LogFormats, load_log_formats
from planner.loaders.logs.reading import read_logs

__all__ = ["LogFormats", "load_log_formats", "read_logs"]
