"""Rows: what places, bytes, dictionaries, pages and times of the published files tell of places in the source."""

from pramana.audit.rows.classifiers import classified_by_bytes, classified_by_place
from pramana.audit.rows.container import beside_the_table, file_times
from pramana.audit.rows.features import bytes_of_cells, places_in_file, values_of_cells
from pramana.audit.rows.positions import (
    Agreement,
    dictionary_attack,
    guessed_orders,
    order_attack,
    seed_attack,
    share_by_place,
)

__all__ = [
    "Agreement",
    "beside_the_table",
    "bytes_of_cells",
    "classified_by_bytes",
    "classified_by_place",
    "dictionary_attack",
    "file_times",
    "guessed_orders",
    "order_attack",
    "places_in_file",
    "seed_attack",
    "share_by_place",
    "values_of_cells",
]
