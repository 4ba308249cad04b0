"""Checks what the wheel and the sdist in a folder contain: ``python package.py FOLDER PAGE``.

``PAGE`` is the studio's page, which the native module of the wheel embeds.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

# The parts of the wheel are listed in the section "Install" of docs/python.md.
MOST_BYTES = {".whl": 18 * 1024 * 1024, ".gz": 12 * 1024 * 1024}
LICENSES = ("LICENSE-APACHE", "LICENSE-MIT")
# Parts of paths that no package has.
UNWANTED = (".venv/", "__pycache__/", "/studio/src/", "/serve/src/", "node_modules/", "/target/")
# Cargo reads the manifests of these crates, although the package does not compile them.
OPTIONAL_CRATES = ("crates/serve", "crates/studio", "tools/unify")
MANIFEST_FILES = tuple(f"/{crate}/{file}" for crate in OPTIONAL_CRATES for file in ("Cargo.toml", "src/lib.rs"))


def unwanted(names: list[str]) -> list[str]:
    """Returns a problem for each file that does not belong into a package."""
    names = [name for name in names if not name.endswith(("/", *MANIFEST_FILES))]
    return [f"{name} does not belong into the package" for name in names if any(part in f"/{name}" for part in UNWANTED)]


def too_large(path: Path) -> list[str]:
    """Returns a problem if a package is larger than it may be."""
    size, most = path.stat().st_size, MOST_BYTES[path.suffix]
    found = f"{path.name} has {size / 1024 / 1024:.1f} MB; at most {most / 1024 / 1024:.0f} MB are allowed"
    return [found] if size > most else []


def check_wheel(path: Path, page: bytes) -> list[str]:
    """Returns the faults of a wheel."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        [metadata_name] = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(wheel.read(metadata_name).decode())
        native = [name for name in names if name.startswith("rulec/_rulec.")  and name.endswith((".so", ".pyd"))]
        symbols = [name for name in native if b"\0.symtab\0" in wheel.read(name)]
        pageless = [name for name in native if page not in wheel.read(name)]
    problems = [*unwanted(names), *too_large(path)]
    problems += [f"the wheel has no {name}" for name in ("rulec/py.typed", "rulec/_rulec.pyi", "rulec/agents.py") if name not in names]
    problems += [f"the wheel has no {name}" for name in LICENSES if not any(found.endswith(f"/{name}") for found in names)]
    if len(native) != 1:
        problems.append(f"the wheel has {len(native)} native modules")
    problems += [f"{name} is not stripped" for name in symbols]
    problems += [f"{name} lacks the studio's page" for name in pageless]
    if metadata["License-Expression"] != "MIT OR Apache-2.0" or metadata["Requires-Python"] != ">=3.10":
        problems.append("the metadata lack the licence or the version of Python")
    if "-abi3-" not in path.name:
        problems.append(f"{path.name} is for one version of Python only")
    if "-linux_" in path.name:
        problems.append(f"{path.name} has no manylinux tag, so package indexes refuse it")
    return problems


def check_sdist(path: Path) -> list[str]:
    """Returns the faults of an sdist."""
    with tarfile.open(path) as sdist:
        names = [member.name for member in sdist.getmembers() if member.isfile()]
    problems = [*unwanted(names), *too_large(path)]
    wanted = (*LICENSES, "PKG-INFO", "pyproject.toml", "Cargo.lock", "rulec/py.typed", "rulec/_rulec.pyi", *MANIFEST_FILES)
    return problems + [f"the sdist has no {name}" for name in wanted if not any(f"/{found}".endswith(f"/{name.lstrip('/')}") for found in names)]


def check(folder: Path, page: bytes) -> list[str]:
    """Returns the faults of the packages in a folder."""
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    problems = [problem for wheel in wheels for problem in check_wheel(wheel, page)]
    problems += [problem for sdist in sdists for problem in check_sdist(sdist)]
    return problems if wheels and sdists else [*problems, f"{folder} has {len(wheels)} wheels and {len(sdists)} sdists"]


if __name__ == "__main__":
    found = check(Path(sys.argv[1]), Path(sys.argv[2]).read_bytes())
    print("\n".join(found) or "the packages are complete")
    sys.exit(1 if found else 0)
