"""The thirteen steps of sizing, walked with the numbers of a plan."""
