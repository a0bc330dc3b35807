"""A survey to try: three questions that people do not like to answer truly, and people who do not exist."""

from __future__ import annotations

from typing import Any

import numpy as np

DEMONSTRATION: dict[str, Any] = {
    "about": {"title": "Work and health: a demonstration"},
    "release": {"epsilon": 3.0, "records": 2000, "tables": [["ill_at_work", "reason"]]},
    "attributes": {
        "ill_at_work": {"role": "sensitive", "randomise": True, "domain": ["yes", "no"]},
        "reason": {
            "role": "sensitive",
            "randomise": True,
            "domain": ["pressure", "money", "duty", "another", "does not apply"],
        },
        "age": {"role": "quasi-identifying", "bins": [16, 30, 45, 60, float("inf")]},
    },
    "survey": {
        "languages": ["en", "de"],
        "title": {"en": "Work and health", "de": "Arbeit und Gesundheit"},
        "introduction": {
            "en": "A demonstration: three questions about going to work ill. Answer as you like.",
            "de": "Eine Vorführung: drei Fragen zum Arbeiten trotz Krankheit. Antworten Sie, wie Sie mögen.",
        },
        "order": ["ill_at_work", "reason", "age"],
        "questions": {
            "ill_at_work": {
                "text": {
                    "en": "In the last twelve months, did you go to work although you were ill?",
                    "de": "Sind Sie in den letzten zwölf Monaten krank zur Arbeit gegangen?",
                },
                "options": {"yes": {"en": "Yes", "de": "Ja"}, "no": {"en": "No", "de": "Nein"}},
            },
            "reason": {
                "text": {"en": "What was the main reason?", "de": "Was war der wichtigste Grund?"},
                "help": {"en": "Of the last time it happened.", "de": "Beim letzten Mal."},
                "when": {"ill_at_work": ["yes"]},
                "otherwise": "does not apply",
                "options": {
                    "pressure": {"en": "Pressure from above", "de": "Druck von oben"},
                    "money": {"en": "Loss of pay", "de": "Lohnausfall"},
                    "duty": {"en": "Not to let others down", "de": "Um andere nicht im Stich zu lassen"},
                    "another": {"en": "Another reason", "de": "Ein anderer Grund"},
                },
            },
            "age": {"text": {"en": "How old are you?", "de": "Wie alt sind Sie?"}},
        },
    },
}


def simulated_answers(count: int, seed: int = 1) -> list[dict[str, str | None]]:
    """True answers of people who do not exist, with values missing here and there."""
    random = np.random.default_rng(seed)

    def drawn(**chances: float) -> str | None:
        value = str(random.choice(list(chances), p=list(chances.values())))
        return None if value == "none" else value

    ages = {"16": "[16,30)", "30": "[30,45)", "45": "[45,60)", "60": "[60,inf)"}
    answers: list[dict[str, str | None]] = []
    for _ in range(count):
        ill = drawn(yes=0.55, no=0.4, none=0.05)
        reason = drawn(pressure=0.35, money=0.2, duty=0.3, another=0.1, none=0.05) if ill == "yes" else None
        age = drawn(**{"16": 0.25, "30": 0.33, "45": 0.3, "60": 0.1, "none": 0.02})
        answers.append(
            {
                "ill_at_work": ill,
                "reason": reason if ill == "yes" else "does not apply",
                "age": None if age is None else ages[age],
            }
        )
    return answers
