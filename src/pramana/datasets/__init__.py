"""Data that ships as code: generated populations, and loaders for public files a user already has.

>>> import pramana
>>> len(pramana.datasets.census(1000, seed=1))
1000
"""

from pramana.datasets.adult import adult, uci_census
from pramana.datasets.census import census, census_chain, salaries, salaries_chain
from pramana.datasets.population import MISSING, Chain, Population
from pramana.datasets.survey import OfficeSurvey, survey

__all__ = [
    "MISSING",
    "Chain",
    "OfficeSurvey",
    "Population",
    "adult",
    "census",
    "census_chain",
    "salaries",
    "salaries_chain",
    "survey",
    "uci_census",
]
