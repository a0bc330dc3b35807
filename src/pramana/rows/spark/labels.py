"""Numbers that Spark's hash partitioning sends where they are meant to go."""

from __future__ import annotations

_SEED = 42  # of Spark's hash partitioning
_MASK = (1 << 32) - 1


def labels_for(partitions: int) -> tuple[int, ...]:
    """For each partition a number that Spark's hash partitioning sends there."""
    label_of: dict[int, int] = {}
    label = 0
    while len(label_of) < partitions:
        label_of.setdefault(hashed(label) % partitions, label)
        label += 1
    return tuple(label_of[p] for p in range(partitions))


def hashed(value: int) -> int:
    """Spark's hash of a 32-bit integer: Murmur3 (x86, 32 bits), as a signed number."""
    mixed = _rotated(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    hash_ = (_rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    hash_ ^= 4  # bytes of the value
    hash_ = (hash_ ^ hash_ >> 16) * 0x85EBCA6B & _MASK
    hash_ = (hash_ ^ hash_ >> 13) * 0xC2B2AE35 & _MASK
    hash_ ^= hash_ >> 16
    return hash_ - (1 << 32) if hash_ >> 31 else hash_


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _MASK
