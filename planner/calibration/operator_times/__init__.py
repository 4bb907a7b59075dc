"""Times of single operators: what the terms of a step say about the rows of a table."""
