"""What is released on the cluster: a table with values that occur nowhere else, and a key to look for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.rows.people import GENERALIZE, LEVELS, RECIPE, STRATA, people, trees

from pramana import Key, release

KEY = Key(hashlib.sha256(b"a key for the cluster's tests").digest())
# one for each way of a value: left out, published as it is, found in the data, stated in the recipe
CANARIES = {
    "name": "Quetzalcoatlus Northropi",
    "note": "note of Archaeopteryx-7741",
    "town": "Thiruvananthapuram-Zwolle",
    "job": "oneirocritic-funambulist",
}
SET = f'{RECIPE}[output]\nfiles = "many"\npart_rows = 9000\n'  # of retention, in five parts
METHODS = {"retention": RECIPE, "levels": LEVELS, "invariant": STRATA, "generalize": GENERALIZE, "set": SET}
CHOSEN = "PRAMANA_CLUSTER_METHODS"  # in the environment: some of them, with commas
ROW_GROUP = 7_000  # six pieces
_RARE = 31_415  # a row of a late piece


@dataclass(frozen=True)
class Desk:
    """Recipe, source and key, and the bundle that they must give."""

    folder: Path
    expected: Path

    @property
    def secrets(self) -> Mapping[str, bytes]:
        """All that must be nowhere else: values of the source, the key, and what drivers derived from it."""
        notes = self.folder / "secrets"
        derived = sorted(set(notes.read_text().split())) if notes.exists() else []
        return {
            **{f"the canary {column}": value.encode() for column, value in CANARIES.items()},
            "the key": KEY.secret,
            **{f"secret {number}": bytes.fromhex(secret) for number, secret in enumerate(derived)},
        }

    @property
    def shown(self) -> set[str]:
        """What the hidden folder of a killed run may hold: of a set, parts with published rows lie there."""
        columns = ("note", "town", "job") if (self.expected / "data").is_dir() else ()
        return {f"the canary {column}" for column in columns}

    @property
    def leftovers(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.name.startswith("."))


def table() -> pa.Table:
    """People, one of whom has a value in every column that no one else has."""
    whole = people()
    for column, value in CANARIES.items():
        values = whole.column(column).to_pylist()
        values[_RARE] = value
        whole = whole.set_column(whole.column_names.index(column), column, pa.array(values))
    return whole


def prepared(folder: Path, method: str) -> Desk:
    folder.mkdir()
    pq.write_table(table(), folder / "people.parquet", row_group_size=ROW_GROUP)
    trees(folder)
    with (folder / "town.csv").open("a") as towns:
        towns.write(f"{CANARIES['town']};county 0;country 0;*\n")
    (folder / "recipe.toml").write_text(METHODS[method].replace('"baker"]', f'"baker", "{CANARIES["job"]}"]'))
    KEY.write(folder / "people.key")
    release(folder / "recipe.toml", folder / "expected", key=KEY)
    return Desk(folder, folder / "expected")
