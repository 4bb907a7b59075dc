"""What the replicas of one pool do, by part of the period."""

from __future__ import annotations


class UseOverTime:
    """Sums of steps over the replicas of a pool, each counted where the step begins."""

    __slots__ = ("busy_s", "kv_byte_s", "sequence_s")

    def __init__(self, parts: int) -> None:
        """Nothing has run."""
        self.busy_s = [0.0] * parts
        """Seconds of replicas in which a step ran."""
        self.sequence_s = [0.0] * parts
        """The same times the sequences that decode."""
        self.kv_byte_s = [0.0] * parts
        """The same times the bytes of the cache in use."""

    def add(self, part: int, took_s: float, sequences: int, kv_bytes: float) -> None:
        """One step, or several alike."""
        self.busy_s[part] += took_s
        self.sequence_s[part] += took_s * sequences
        self.kv_byte_s[part] += took_s * kv_bytes
