"""Formulas: pure functions of SI numbers and NumPy arrays. They know nothing else of planner."""
