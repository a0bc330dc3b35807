"""Channels for values in order: the least error of means, distribution functions or tables at a stated epsilon."""

from pramana.calibration.ordered.choosing import OrderedValues, ordered_channel, with_ordered
from pramana.calibration.ordered.criterion import Criterion, ErrorOf
from pramana.calibration.ordered.design import Design, interval_design
from pramana.calibration.ordered.families import square_wave, two_point
from pramana.calibration.ordered.smoothness import Shape

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
