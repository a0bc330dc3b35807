"""Where data lies: paths of this machine, and URLs of stores that Arrow's file systems open."""

from pramana.stores.faults import store_error, store_faults
from pramana.stores.regular_file import not_a_file, open_regular, regular_bytes, regular_text
from pramana.stores.store_path import (
    AnyPath,
    StorePath,
    arrow_input,
    is_store_url,
    local_path,
    located,
    named_in,
    path_here,
    path_text,
)
from pramana.stores.whole_object import new_object, put, put_file, put_new

__all__ = [
    "AnyPath",
    "StorePath",
    "arrow_input",
    "is_store_url",
    "local_path",
    "located",
    "named_in",
    "new_object",
    "not_a_file",
    "open_regular",
    "path_here",
    "path_text",
    "put",
    "put_file",
    "put_new",
    "regular_bytes",
    "regular_text",
    "store_error",
    "store_faults",
]
