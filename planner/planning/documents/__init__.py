"""From an answer to the plan document."""
