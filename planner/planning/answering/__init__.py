"""Questions answered: every setting of tiers, and what is told beside the plan."""
