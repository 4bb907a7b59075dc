"""Planner: the cheapest GPU fleet that keeps every limit, proved and explained."""
