"""The steps of publishing, and which of them can be gone to."""

from __future__ import annotations

from dataclasses import dataclass

from pramana.app.studio.work import Journey

ROOT = "/publish"


@dataclass(frozen=True)
class JourneyStep:
    """A page of the journey."""

    name: str
    title: str
    ready: bool

    @property
    def address(self) -> str:
        return f"{ROOT}/{self.name}"


def steps_of(journey: Journey) -> list[JourneyStep]:
    opened, chosen = journey.inspection is not None, bool(journey.document.method)
    columns = opened and journey.confirmed_columns
    drafted = columns and chosen
    job = journey.job
    return [
        JourneyStep("open", "Open", True),
        JourneyStep("columns", "Columns", opened),
        JourneyStep("job", "Job", columns),
        JourneyStep("dial", "Dial", drafted),
        JourneyStep("check", "Check", drafted),
        JourneyStep("release", "Release", drafted and journey.looked_at),
        JourneyStep("report", "Report", job is not None and job.released is not None),
    ]


def is_ready(journey: Journey, name: str) -> bool:
    return any(step.ready for step in steps_of(journey) if step.name == name)
