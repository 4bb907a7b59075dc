"""Nouns: problems, catalog entries, observations, plans and answers, checked when they are made."""
