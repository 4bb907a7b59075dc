"""One replica under load: step times composed with queueing, or a table of measured rates."""
