"""A release as data protection officers ask about it: who answers for it, three risks, techniques, evaluation."""

from pramana.pipeline.reporting.dossier.page import dossier_page

__all__ = ["dossier_page"]
