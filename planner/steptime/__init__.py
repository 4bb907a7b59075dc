"""One engine: physics composed into step time, memory and the number of sequences that fit."""
