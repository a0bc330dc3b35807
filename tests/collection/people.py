"""People who do not exist, and what they answer in the demonstration survey."""

from __future__ import annotations

import numpy as np


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
