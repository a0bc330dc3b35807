"""Paper 3, Figure 7: how far a growing coalition can reconstruct the true values."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.pages.figures import Panel, Picture, Series


def coalition_picture(by_size: Sequence[tuple[int, float, float]]) -> Picture:
    """`by_size`: members so far, reconstruction probability together, and had the versions been independent."""
    members = [float(m) for m, _, _ in by_size]
    return Picture(
        [
            Panel(
                [
                    Series("versions of one process", members, [together for _, together, _ in by_size]),
                    Series("independent versions", members, [apart for _, _, apart in by_size]),
                ],
                x_label="recipients who collude",
                y_label="chance to reconstruct a value",
                from_zero=True,
            )
        ],
        width=5.2,
        height=3.2,
    )
