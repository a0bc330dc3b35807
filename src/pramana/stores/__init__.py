"""Where data lies: paths of this machine, and URLs of stores that Arrow's file systems open."""

from pramana.stores.faults import store_error, store_faults
from pramana.stores.store_path import (
    AnyPath,
    StorePath,
    arrow_input,
    is_store_url,
    local_path,
    located,
    named_in,
)
from pramana.stores.whole_object import put, put_new

__all__ = [
    "AnyPath",
    "StorePath",
    "arrow_input",
    "is_store_url",
    "local_path",
    "located",
    "named_in",
    "put",
    "put_new",
    "store_error",
    "store_faults",
]
