"""Classes of people, or households, that have several rows: what they are counted by, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError
from pramana.generalize import JointValues, Risks, UnitCounts
from pramana.methods.cell_table import CLASS_NUMBER
from pramana.methods.generalize.sensitive import Sensitive, derive_codes
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.randomness import Codes
from pramana.rows import Owners, Rows
from pramana.schema import Storey

NO_COLUMN = Sensitive("", ("",), False)  # where only people are counted


@dataclass(frozen=True, eq=False)
class UnitLines:
    """Rows of one unit that agree in some columns, as one line."""

    line_of_row: NDArray[np.int64]
    first_rows: NDArray[np.int64]
    most: int  # lines of a unit, at most


def joint_values(rows: Rows, design: GeneralizeDesign, looked: Sequence[Sensitive]) -> list[JointValues]:
    """The pairs of a unit and a sensitive value, as columns beside the rows; none where rows are people."""
    owners = rows.owners
    if owners is None:
        return []
    whole, joints = rows.whole(), []
    units = owners.numbers_of(owners.largest)
    codes = whole.codes({s.coded: s.size for s in looked}) if looked else {}
    for place, s in enumerate(looked or [NO_COLUMN]):
        own = codes[s.coded] if looked else np.zeros(len(units), np.uint8)
        joint, number = JointValues.of(units, own, s.size)
        shares = (design.t, design.d_disclosure, design.b_likeness)
        by_shares = any(asked is not None for asked in shares) or design.l_kind != "distinct"
        if looked and not joint.single and by_shares:
            raise RecipeError(
                f"For t, d, b, or l by entropy or recursive, a {owners.largest} must have one value of {s.name!r}",
                "several for some",
                'l with l_kind = "distinct" takes them as they are.',
            )
        whole.attach(_joint_name(place), (), number)
        joints.append(joint)
    return joints


def joint_columns(joints: Sequence[JointValues]) -> dict[str, int]:
    """Their columns, and how many codes each has."""
    return {_joint_name(place): len(joint) for place, joint in enumerate(joints)}


def _joint_name(place: int) -> str:
    return f"\0unit {place}"


def lines_of_units(rows: Rows, codes: Mapping[str, Codes]) -> UnitLines:
    """Of the largest units, by the columns of `codes`."""
    owners = rows.owners
    assert owners is not None, "rows are brought together where their units are asked for"
    units = owners.numbers_of(owners.largest)
    table = np.stack([units, *(column.astype(np.int64) for column in codes.values())], axis=1)
    lines, first, line_of_row = np.unique(table, axis=0, return_index=True, return_inverse=True)
    most = int(np.bincount(lines[:, 0]).max())
    return UnitLines(line_of_row.reshape(-1), first, most)


@dataclass(frozen=True, eq=False)
class UnitsInClasses:
    """Whose the rows of each class are, and what sensitive values they have; suppressed rows are left out.

    `class_of` has the classes as they are shown: those that look the same are one.
    """

    owners: Owners
    kept: NDArray[np.bool_]
    class_of: NDArray[np.int64]
    codes: Mapping[str, Codes]

    def shown(self, alike: NDArray[np.int64]) -> UnitsInClasses:
        """With classes that share a number in `alike` as one."""
        return UnitsInClasses(self.owners, self.kept, alike[self.class_of], self.codes)

    def _units(self, storey: Storey) -> NDArray[np.int64]:
        return self.owners.numbers_of(storey)[self.kept].astype(np.int64)

    def counts(self, storey: Storey, sensitive: Sensitive) -> UnitCounts:
        """How many units of each class have each value."""
        codes = self.codes[sensitive.name][self.kept].astype(np.int64)
        classes = int(self.class_of.max()) + 1
        return UnitCounts.of_units(self.class_of, self._units(storey), codes, classes, sensitive.size)

    def k(self, storey: Storey) -> int:
        """Units in the class that has the fewest."""
        pairs = np.unique(np.stack([self.class_of, self._units(storey)], axis=1), axis=0)
        return int(np.bincount(pairs[:, 0]).min())

    def risks(self, storey: Storey) -> Risks:
        """Of picking a record of the right class that is not of the unit one looks for.

        A unit with most of the rows of a class is found most of the time, however many others are in it.
        """
        table = np.stack([self.class_of, self._units(storey)], axis=1)
        pairs, rows = np.unique(table, axis=0, return_counts=True)
        share = rows / np.bincount(self.class_of)[pairs[:, 0]]
        return Risks(float(share.max()), None, float((share * rows).sum() / rows.sum()))


def units_in_classes(rows: Rows, sensitive: Sequence[Sensitive], classes: int) -> UnitsInClasses | None:
    """Of rows that have the number of their class; None where rows are people."""
    owners = rows.owners
    if owners is None:
        return None
    derive_codes(rows, sensitive)
    codes = rows.whole().codes({CLASS_NUMBER: classes + 1, **{s.coded: s.size for s in sensitive}})
    number = codes[CLASS_NUMBER].astype(np.int64)
    kept = number < classes
    return UnitsInClasses(owners, kept, number[kept], {s.name: codes[s.coded] for s in sensitive})
