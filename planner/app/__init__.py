"""Use cases: the only place where the order of steps is written. Import them from their modules."""
