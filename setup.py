"""The compiled kernels: one small C module in each room that has a hot loop. All else is in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup


def kernel(module: str) -> Extension:
    return Extension(
        module,
        [f"src/{module.replace('.', '/')}.c"],
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


setup(
    ext_modules=[
        kernel("pramana.randomness._kernels"),
        kernel("pramana.randomness._order"),
        kernel("pramana.generalize._classes"),
        kernel("pramana.generalize._partition"),
        kernel("pramana.generalize.microaggregation._mdav"),
        kernel("pramana.mechanisms._levels"),
        kernel("pramana.sources.lines._lines"),
        kernel("pramana.theory._grid"),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}, "build_ext": {"parallel": 2}},
)
