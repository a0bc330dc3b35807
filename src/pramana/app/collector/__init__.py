"""The collector: the respondents' page, the organiser's page, and the small interface between device and store."""

from pramana.app.collector.application import Collector
from pramana.app.collector.survey_page import SurveyPage

__all__ = ["Collector", "SurveyPage"]
