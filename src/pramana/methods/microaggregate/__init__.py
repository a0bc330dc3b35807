"""`microaggregate`: k-anonymity of this table by publishing means, medians and modes of small classes."""

from pramana.methods.microaggregate.method import MicroaggregateMethod

METHODS = {MicroaggregateMethod.name: MicroaggregateMethod()}

__all__ = ["METHODS"]
