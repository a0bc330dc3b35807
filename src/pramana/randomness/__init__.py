"""Keyed streams, exact integer samplers, keyed shuffles."""

from pramana.randomness.cores import available_cores
from pramana.randomness.joint import joint_codes, split_codes
from pramana.randomness.key import KEY_BYTES, Key, Stream, fresh_words, write_new
from pramana.randomness.samplers import (
    ONE,
    Codes,
    alias_table,
    brief_table,
    code_dtype,
    draw_from_table,
    retain,
    retain_joint,
)
from pramana.randomness.shuffle import (
    MOST_BUCKET_BITS,
    MOST_ROWS,
    bucket_order,
    bucketed,
    counted,
    gather,
    gathered,
    shuffled_order,
    tag_stream,
)

__all__ = [
    "KEY_BYTES",
    "MOST_BUCKET_BITS",
    "MOST_ROWS",
    "ONE",
    "Codes",
    "Key",
    "Stream",
    "alias_table",
    "available_cores",
    "brief_table",
    "bucket_order",
    "bucketed",
    "code_dtype",
    "counted",
    "draw_from_table",
    "fresh_words",
    "gather",
    "gathered",
    "joint_codes",
    "retain",
    "retain_joint",
    "shuffled_order",
    "split_codes",
    "tag_stream",
    "write_new",
]
