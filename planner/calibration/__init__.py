"""Measurements against predictions: rows, runs, fits and errors."""
