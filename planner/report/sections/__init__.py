"""Sections of a report, as data: what a plan says, in tables, charts and sentences."""
