"""Hours of a fleet on their own: the fewest GPUs that carry them, what these prove, and plans from them."""
