"""Fleets: several workloads over hours, bought under several terms."""
