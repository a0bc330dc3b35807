"""Keyed streams, exact integer samplers, keyed shuffles."""

from pramana.randomness.cores import available_cores
from pramana.randomness.joint import joint_codes, split_codes
from pramana.randomness.key import KEY_BYTES, Key, Stream, fresh_words
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
from pramana.randomness.secret_file import bundle_around, check_outside_bundles, check_private, write_new
from pramana.randomness.shuffle import (
    MOST_BUCKET_BITS,
    MOST_ROWS,
    bucket_counts,
    bucket_order,
    bucketed,
    counted,
    gather,
    gathered,
    shuffled_order,
    tag_stream,
)
from pramana.randomness.whole_file import (
    flush,
    give_name,
    is_own,
    lock_of,
    named_when_whole,
    replace_whole,
    sweep_unfinished,
    write_whole,
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
    "bucket_counts",
    "bucket_order",
    "bucketed",
    "bundle_around",
    "check_outside_bundles",
    "check_private",
    "code_dtype",
    "counted",
    "draw_from_table",
    "flush",
    "fresh_words",
    "gather",
    "gathered",
    "give_name",
    "is_own",
    "joint_codes",
    "lock_of",
    "named_when_whole",
    "replace_whole",
    "retain",
    "retain_joint",
    "shuffled_order",
    "split_codes",
    "sweep_unfinished",
    "tag_stream",
    "write_new",
    "write_whole",
]
