"""The exact engine for small fleets: one CP-SAT model over all periods."""
