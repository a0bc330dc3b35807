"""`generalize`: k-anonymity of this table, with what the classes look like inside in their cells (paper 4)."""

from pramana.methods.generalize.explanation import treatments_of
from pramana.methods.generalize.method import GeneralizeMethod
from pramana.methods.generalize.setting import weights_of

METHODS = {GeneralizeMethod.name: GeneralizeMethod()}

__all__ = ["METHODS", "treatments_of", "weights_of"]
