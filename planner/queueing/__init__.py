"""Queueing formulas: pure functions of SI floats and NumPy arrays."""
