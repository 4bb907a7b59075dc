"""The limits of a plan: one file each, gathered in `registry`."""
