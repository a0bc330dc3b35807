"""Invariant releases: paper 2's two intruders, on the law and in the file, and one who has no matrix."""

from pramana.audit.identification.in_the_file import identified_in_file
from pramana.audit.identification.intruders import identification_attacks
from pramana.audit.identification.withheld import withheld_matrix

__all__ = ["identification_attacks", "identified_in_file", "withheld_matrix"]
