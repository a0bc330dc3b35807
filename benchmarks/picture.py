"""Draw a run: one panel a comparison, one bar a row. Needs matplotlib.

python benchmarks/picture.py RUN.json PICTURE.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(source: str, target: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    parts = json.loads(Path(source).read_text("utf-8"))["comparisons"]
    heights = [len(part["rows"]) + 1 for part in parts]
    figure, axes = plt.subplots(
        len(parts), 1, figsize=(9, 0.3 * sum(heights) + 0.5 * len(parts)), height_ratios=heights, squeeze=False
    )
    for axis, part in zip(axes[:, 0], parts, strict=True):
        rows = [row for row in part["rows"] if "rate" in row][::-1]
        names = [row["name"] for row in rows]
        rates = [row["rate"] for row in rows]
        spread = [
            [row["rate"] - row["slowest"] for row in rows],
            [row["fastest"] - row["rate"] for row in rows],
        ]
        colours = ["tab:blue" if "ramana" in name else "tab:gray" for name in names]
        axis.barh(names, rates, xerr=spread, color=colours, error_kw={"linewidth": 0.8})
        if max(rates) > 20 * min(rates):  # else bars from zero: a logarithm would overstate small differences
            axis.set_xscale("log")
        axis.set_title(f"{part['title']}: {part['unit']} per second", fontsize=9, loc="left")
        axis.tick_params(labelsize=8)
    figure.tight_layout()
    figure.savefig(target, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
