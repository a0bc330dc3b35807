"""The compiled kernels, one small C module in each room that has a hot loop; and README for indexes of packages.

All else is in pyproject.toml.
"""

import re
import tomllib
from pathlib import Path

from setuptools import Extension, setup


def kernel(module: str) -> Extension:
    return Extension(
        module,
        [f"src/{module.replace('.', '/')}.c"],
        include_dirs=["src/pramana"],
        depends=[str(header) for header in Path("src").rglob("*.h")],
        # no fused products and sums: a float must be the same on every machine
        extra_compile_args=[
            "-O3",
            "-g0",  # what helps to debug names the folder in which it was built
            "-ffp-contract=off",
            "-std=gnu11",
            "-Wall",
            "-Wextra",
            "-Wno-cast-function-type",
        ],
        define_macros=[("Py_LIMITED_API", "0x030B0000")],
        py_limited_api=True,
    )


def described(readme: str, address: str | None) -> str:
    """README where none of the repository's files are: pages and pictures of `docs` by their address in the built
    documentation. Without an address, and for what is not in it, pictures are left out and links are their words.
    """

    def instead(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        if "://" in target or target.startswith("#"):
            return match[0]
        if address is None or not target.startswith("docs/"):
            return "" if mark else words
        place = re.sub(r"\.md(?=#|$)", ".html", target.removeprefix("docs/"))
        return f"{mark}[{words}]({address.rstrip('/')}/{place})"

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", instead, readme)


urls = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"].get("urls", {})

setup(
    long_description=described(Path("README.md").read_text("utf-8"), urls.get("Documentation")),
    long_description_content_type="text/markdown",
    ext_modules=[
        kernel("pramana.randomness._kernels"),
        kernel("pramana.randomness._order"),
        kernel("pramana.counting._classes"),
        kernel("pramana.methods.generalize._partition"),
        kernel("pramana.methods.microaggregate._mdav"),
        kernel("pramana.mechanisms._levels"),
        kernel("pramana.theory._grid"),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}, "build_ext": {"parallel": 2}},
)
