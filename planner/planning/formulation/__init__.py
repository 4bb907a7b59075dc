"""From a problem to the question that the solver is asked."""
