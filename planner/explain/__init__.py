"""Reasons: what each constraint removes, which plans lost, why a GPU cannot serve."""
