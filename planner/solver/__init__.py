"""Optima and their bounds: the cheapest choice among candidates. Only here is OR-Tools known."""
