"""One workload: its case, its candidates, evaluated."""
