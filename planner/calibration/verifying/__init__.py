"""Whether measured runs keep what a plan promises: intervals, loads, verdicts."""
