"""Collecting answers that people randomise themselves: the survey, its store, live results, and closing it.

The browser's part, which throws the coins, is the npm-shaped folder `browser`.
"""

from pramana.collection.arrivals import Arrivals
from pramana.collection.closing import CollectionPlace, close_collection, complete_collection
from pramana.collection.demonstration import DEMONSTRATION, simulated_answers
from pramana.collection.interface import openapi_of
from pramana.collection.limits import AddressLimit
from pramana.collection.results import CollectionResults, results_of
from pramana.collection.store import CollectionStore, Outcome
from pramana.collection.submission import Submission, invitation_digest, new_invitations
from pramana.collection.survey import Question, Survey
from pramana.collection.wording import interface_words

__all__ = [
    "DEMONSTRATION",
    "AddressLimit",
    "Arrivals",
    "CollectionPlace",
    "CollectionResults",
    "CollectionStore",
    "Outcome",
    "Question",
    "Submission",
    "Survey",
    "close_collection",
    "complete_collection",
    "interface_words",
    "invitation_digest",
    "new_invitations",
    "openapi_of",
    "results_of",
    "simulated_answers",
]
