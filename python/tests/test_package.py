"""The check of the wheel and the sdist finds missing files and files that do not belong there."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from pathlib import Path

import package

METADATA = "Metadata-Version: 2.4\nName: rulec\nVersion: 1.0\nLicense-Expression: MIT OR Apache-2.0\nRequires-Python: >=3.10\n\n"
PAGE = b"<!doctype html><title>Studio</title>"
WHEEL = {
    "rulec/py.typed": b"",
    "rulec/_rulec.pyi": b"",
    "rulec/agents.py": b"",
    "rulec/_rulec.abi3.so": b"\x7fELF" + PAGE,
    "rulec-1.0.dist-info/METADATA": METADATA.encode(),
    "rulec-1.0.dist-info/licenses/LICENSE-APACHE": b"",
    "rulec-1.0.dist-info/licenses/LICENSE-MIT": b"",
}
SDIST = ["LICENSE-APACHE", "LICENSE-MIT", "PKG-INFO", "pyproject.toml", "Cargo.lock", "rulec/py.typed", "rulec/_rulec.pyi"]
SDIST += [f"{crate}/{file}" for crate in package.OPTIONAL_CRATES for file in ("Cargo.toml", "src/lib.rs")]


def packages(
    folder: Path, wheel: dict[str, bytes], sdist: list[str], tag: str = "cp310-abi3-manylinux_2_28_x86_64"
) -> list[str]:
    for old in folder.glob("*.whl"):
        old.unlink()
    with zipfile.ZipFile(folder / f"rulec-1.0-{tag}.whl", "w") as file:
        for name, content in wheel.items():
            file.writestr(name, content)
    with tarfile.open(folder / "rulec-1.0.tar.gz", "w:gz") as archive:
        for name in sdist:
            archive.addfile(tarfile.TarInfo(f"rulec-1.0/{name}"), io.BytesIO())
    return package.check(folder, PAGE)


def test_no_text_installs_from_an_index() -> None:
    # The package is on no index, where a package of its name is a stranger's.
    root = Path(__file__).parents[2]
    paths = [path for folder in ("docs", "python") for suffix in ("md", "py", "pyi", "toml") for path in (root / folder).rglob(f"*.{suffix}")]
    installs = re.compile(r"pip install [\"']?rulec\b")
    assert len(paths) > 50
    assert [str(path) for path in paths if ".venv" not in path.parts and installs.search(path.read_text())] == []


def test_complete_packages_pass(tmp_path: Path) -> None:
    assert packages(tmp_path, WHEEL, SDIST) == []
    assert package.check(tmp_path / "nothing", PAGE) != []


def test_each_fault_is_found(tmp_path: Path) -> None:
    for name in [name for name in WHEEL if "METADATA" not in name]:
        assert packages(tmp_path, {other: text for other, text in WHEEL.items() if other != name}, SDIST), name
    for name in SDIST:
        assert packages(tmp_path, WHEEL, [other for other in SDIST if other != name]), name
    for name in (".venv/bin/python", "rulec/__pycache__/a.pyc", "studio/src/main.ts", "crates/studio/src/server.rs"):
        assert packages(tmp_path, WHEEL, [*SDIST, name]), name
    assert packages(tmp_path, WHEEL | {"rulec/_rulec.abi3.so": b"\x7fELF\0.symtab\0" + PAGE}, SDIST)
    assert packages(tmp_path, WHEEL | {"rulec/_rulec.abi3.so": b"\x7fELF"}, SDIST)
    assert packages(tmp_path, WHEEL | {"rulec-1.0.dist-info/METADATA": b"Name: rulec\n\n"}, SDIST)
    packages(tmp_path, WHEEL, SDIST)
    assert [package.too_large(path) for path in tmp_path.iterdir()] == [[], []]
    for path in tmp_path.iterdir():
        with path.open("r+b") as file:
            file.truncate(package.MOST_BYTES[path.suffix] + 1)
        assert len(package.too_large(path)) == 1, path
    for tag in ("cp310-abi3-linux_x86_64", "cp313-cp313-manylinux_2_28_x86_64"):
        assert len(packages(tmp_path, WHEEL, SDIST, tag)) == 1, tag
