"""Channels for values in order: the least error of means, distribution functions or tables at a stated epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use

if TYPE_CHECKING:
    from pramana.calibration.ordered.choosing import OrderedValues, ordered_channel, with_ordered
    from pramana.calibration.ordered.criterion import Criterion, ErrorOf
    from pramana.calibration.ordered.design import Design, interval_design
    from pramana.calibration.ordered.families import square_wave, two_point
    from pramana.calibration.ordered.smoothness import Shape

_MODULE_OF = {  # a command loads what it uses
    "Criterion": "criterion",
    "Design": "design",
    "ErrorOf": "criterion",
    "OrderedValues": "choosing",
    "Shape": "smoothness",
    "interval_design": "design",
    "ordered_channel": "choosing",
    "square_wave": "families",
    "two_point": "families",
    "with_ordered": "choosing",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

__all__ = [
    "Criterion",
    "Design",
    "ErrorOf",
    "OrderedValues",
    "Shape",
    "interval_design",
    "ordered_channel",
    "square_wave",
    "two_point",
    "with_ordered",
]
