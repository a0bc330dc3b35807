"""What a recipe with method `presence` asks for, read and checked before the data is touched."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from pramana.bundle.form import Form
from pramana.errors import RecipeError
from pramana.methods.columns import GivenLevels
from pramana.methods.presence.algorithms import PresenceDesign
from pramana.methods.presence.shaping import Presence
from pramana.schema.sections import Setting, Weights
from pramana.schema.typed import Count, FilePath, Flag, PlainText, Positive

Algorithm = Literal["spalm", "wpalm", "ppalm", "optimal"]
Mode = Literal["public", "noised", "quantised", "private"]
Chosen = Literal["given", "public", "searched"]  # how the levels came about
CellKind = Literal["hierarchy", "set", "pdf"]
Range = Annotated[tuple[float, float], Meta(extra={"must": "two numbers, such as delta = [0.01, 0.5]"})]


class PresenceSetting(Setting, frozen=True, kw_only=True, tag="presence"):
    """method = "presence": that someone is in the table stays uncertain, for these two tables."""

    delta: Range
    public: Annotated[FilePath | None, Meta(description="The table of everyone.")] = None
    present: Annotated[PlainText | None, Meta(description="The column that marks who is present by 1 and 0.")] = (
        None
    )
    algorithm: Algorithm = "optimal"
    cells: CellKind = "hierarchy"
    mode: Mode = "public"
    noise_epsilon: Positive | None = None
    quantum: Count | None = None
    measure: Literal["loss", "entropy", "precision"] = "loss"
    weights: Weights = {}
    levels: GivenLevels | None = None
    choose: Annotated[
        Literal["public", "searched"],
        Meta(description="How levels that are not given are chosen: from public knowledge or on the table."),
    ] = "public"
    spread: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        Meta(
            description="By which factor classes may differ from the overall share, as levels are chosen.",
            extra={"must": "a number of at least 1"},
        ),
    ] = None
    suppression: Annotated[float, Meta(ge=0)] = 0.0
    compare: Annotated[Flag, Meta(description="Whether to say what the other algorithms would gain.")] = False

    def __post_init__(self) -> None:
        if self.suppression != 0:
            raise RecipeError(
                "With method presence nothing may be suppressed: what is left out tells of its people as well",
                f"suppression = {self.suppression!r}",
            )
        if self.compare and self.mode != "public":
            raise RecipeError(
                'compare must go with mode = "public": what other algorithms gain comes from the counts, too',
                f"mode = {self.mode!r}",
            )
        if self.spread is not None and (self.choose != "public" or self.levels is not None):
            how = "levels that are given" if self.levels is not None else "levels that are searched"
            raise RecipeError('spread must go with choose = "public"', how)
        if self.quantum is not None and self.mode != "quantised":
            raise RecipeError('quantum must go with mode = "quantised"', f"mode = {self.mode!r}")
        if self.mode == "noised" and self.noise_epsilon is None:
            raise RecipeError(
                'With mode = "noised" a recipe must state noise_epsilon', "none", "Write noise_epsilon = 1.0."
            )

    @property
    def wanted(self) -> Presence:
        return Presence.of(*self.delta)

    @property
    def chosen(self) -> Chosen:
        return "given" if self.levels is not None else self.choose

    @property
    def design(self) -> PresenceDesign:
        quantum = PresenceDesign().quantum if self.quantum is None else self.quantum
        return PresenceDesign(self.algorithm, self.mode, self.cells, quantum=quantum, epsilon=self.noise_epsilon)


class PresenceDesignForm(Form, frozen=True, kw_only=True):
    """The range and the design as a certificate states them."""

    delta: tuple[str, str]
    algorithm: Algorithm
    mode: Mode
    start: CellKind
    steps: Count
    quantum: Count
    epsilon: Positive | None

    @property
    def wanted(self) -> Presence:
        return Presence.of(*self.delta)

    @property
    def design(self) -> PresenceDesign:
        return PresenceDesign(self.algorithm, self.mode, self.start, self.steps, self.quantum, self.epsilon)
