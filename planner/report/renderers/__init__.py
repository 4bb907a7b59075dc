"""Reports as files: each renderer takes a report as data and gives bytes."""
