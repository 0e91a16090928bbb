"""The code bases that the written questions are about: fetched by pinned version, checked, unpacked.

    $ python -m benchmarks.retrieval.corpora FOLDER [NAME ...]

Each becomes FOLDER/NAME; what is there already stays. pip, npm and apt-get fetch, each from the registry that
this machine has configured; apt-get needs a Debian 12 among its sources, but neither root nor deb-src lines.
The archives are kept in FOLDER/.archives: copied there by hand, they are taken as if they had been fetched.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .repositories import SPLITS

LIST = Path(__file__).parent / "data" / "corpora.toml"

_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]*")
_PACKAGE = re.compile(r"(@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9.+_-]*")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+~:-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_APT_SOURCE = "$(ORIGIN) $(REPO_URI) $(CODENAME) $(COMPONENT)"
_DEBIAN_RELEASE = re.compile(r"Debian (\S+ [a-z]+ \S+)")


class CorpusError(Exception):
    """An archive could not be had, is not the one that was pinned, or is not safe to unpack."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """One source distribution; `split` says which half of the measurements it belongs to."""

    name: str  # of its folder, and what a question calls it
    registry: str  # a key of REGISTRIES
    package: str
    version: str
    sha256: str  # of the archive, 64 hex digits
    language: str  # the one that most of it is written in
    split: str
    leave_out: tuple[str, ...] = ()  # folders that are built from the rest, relative to the archive's top

    def __post_init__(self) -> None:
        patterns = {"name": _NAME, "package": _PACKAGE, "version": _VERSION, "sha256": _SHA256}
        for field, pattern in patterns.items():
            value = getattr(self, field)
            if not isinstance(value, str) or not pattern.fullmatch(value):
                raise ValueError(f"{self.name}: {field} can't be {value!r}")
        for field, choices in (("registry", tuple(REGISTRIES)), ("split", SPLITS)):
            if getattr(self, field) not in choices:
                raise ValueError(f"{self.name}: {field} must be one of {', '.join(choices)}")


def read_corpora(path: Path = LIST) -> list[Corpus]:
    """Return the corpora in the file's order; raise `ValueError` naming the entry that is wrong."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["corpus"]
    corpora = []
    for entry in entries:
        try:
            corpora.append(Corpus(**{**entry, "leave_out": tuple(entry.get("leave_out", ()))}))
        except TypeError as error:
            raise ValueError(f"{path}: {entry.get('name')}: {error}") from error
    if len({corpus.name for corpus in corpora}) != len(corpora):
        raise ValueError(f"{path}: a name stands twice")
    return corpora


def provide(corpus: Corpus, folder: Path) -> Path:
    """Return the folder that holds the corpus, fetched and unpacked if it isn't there.

    A folder with the corpus's name counts only together with a note of the archive that it was unpacked from:
    an unpacking that was interrupted, or another pin, begins anew. Raises `CorpusError`.
    """
    target, note = folder / corpus.name, folder / ".archives" / f"{corpus.name}.unpacked"
    wanted = "\n".join((corpus.sha256, *corpus.leave_out))
    if target.is_dir() and note.is_file() and note.read_text(encoding="utf-8") == wanted:
        return target
    (folder / ".archives").mkdir(parents=True, exist_ok=True)
    archive = _archive(corpus, folder / ".archives")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpacking-") as temporary:
        unpacked = Path(temporary) / corpus.name
        unpack(archive, unpacked, corpus.leave_out)
        note.unlink(missing_ok=True)
        if target.exists():
            shutil.rmtree(target)
        unpacked.rename(target)
    note.write_text(wanted, encoding="utf-8")
    return target


def unpack(archive: Path, target: Path, leave_out: tuple[str, ...] = ()) -> None:
    """Write the files of a tar archive below `target`, without the one folder that they all lie in.

    Links, devices and other special members are left out: no question asks for one. A member whose path is
    absolute or leaves the folder refuses the whole archive, so does damage. Raises `CorpusError`.
    """

    def chosen(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
        inner = PurePosixPath(*PurePosixPath(member.name).parts[1:])
        if not member.isreg() or not inner.parts or any(map(inner.is_relative_to, leave_out)):
            return None
        return tarfile.data_filter(member.replace(name=str(inner), deep=False), path)

    try:
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter=chosen)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise CorpusError(f"{archive.name} can't be unpacked: {error}") from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(arguments: list[str] | None = None) -> int:
    """Provide the named corpora, or all; return 1 if one could not be had."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval.corpora", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name", nargs="*")
    options = parser.parse_args(arguments)
    corpora = read_corpora()
    if unknown := set(options.name) - {corpus.name for corpus in corpora}:
        parser.error(f"no such corpus: {', '.join(sorted(unknown))}")
    failed = 0
    for corpus in corpora:
        if options.name and corpus.name not in options.name:
            continue
        pin = f"{corpus.name:18} {corpus.registry:6} {corpus.package} {corpus.version}"
        try:
            target = provide(corpus, options.folder)
        except CorpusError as error:
            print(f"{pin}: {error}", file=sys.stderr)
            failed += 1
        else:
            print(f"{pin}: {sum(1 for _ in files_of(target)):,} files", flush=True)
    return 1 if failed else 0


def files_of(folder: Path) -> Iterator[str]:
    """Yield the files of an unpacked corpus, paths with slashes relative to its top."""
    for parent, _, names in os.walk(folder):
        for name in names:
            yield (Path(parent) / name).relative_to(folder).as_posix()


def _archive(corpus: Corpus, archives: Path) -> Path:
    kept = archives / f"{corpus.name}-{corpus.sha256[:16]}.tar"
    if kept.is_file() and sha256_of(kept) == corpus.sha256:
        return kept
    for path in archives.iterdir():  # copied there by hand, under whatever name
        if path.is_file() and sha256_of(path) == corpus.sha256:
            return path
    with tempfile.TemporaryDirectory(dir=archives) as temporary:
        REGISTRIES[corpus.registry](corpus, Path(temporary))
        fetched = [path for path in Path(temporary).iterdir() if re.search(r"\.(tgz|tar\.\w+)$", path.name)]
        if len(fetched) != 1:
            names = ", ".join(path.name for path in fetched)
            raise CorpusError(f"{corpus.registry} fetched {names or 'nothing'} instead of one archive")
        if (found := sha256_of(fetched[0])) != corpus.sha256:
            raise CorpusError(
                f"{fetched[0].name} has SHA-256 {found}, not the {corpus.sha256} that was pinned"
            )
        os.replace(fetched[0], kept)
    return kept


def _fetch_pypi(corpus: Corpus, folder: Path) -> None:
    """Have pip download the source distribution; it checks the hash before it asks it for its metadata."""
    requirement = folder / "requirement.txt"
    requirement.write_text(
        f"{corpus.package}=={corpus.version} --hash=sha256:{corpus.sha256}\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", corpus.package]
    _run([*command, "--require-hashes", "--requirement", str(requirement), "--dest", str(folder)], folder)


def _fetch_npm(corpus: Corpus, folder: Path) -> None:
    _run(["npm", "pack", "--silent", "--ignore-scripts", f"{corpus.package}@{corpus.version}"], folder)


def _fetch_debian(corpus: Corpus, folder: Path) -> None:
    """Have apt-get fetch an upstream archive, with lists of its own: the machine's have no source packages.

    Of the release itself only: its updates may have another version.
    """
    targets = _run(["apt-get", "indextargets", "--format", _APT_SOURCE, "Created-By: Packages"], folder)
    releases = {match[1] for line in targets.splitlines() if (match := _DEBIAN_RELEASE.fullmatch(line))}
    lists = folder.parent / "apt"
    for part in ("parts", "lists/partial", "cache/archives/partial"):
        (lists / part).mkdir(parents=True, exist_ok=True)
    (lists / "sources.list").write_text("".join(f"deb-src {release}\n" for release in sorted(releases)))
    settings = {
        "Dir::Etc::SourceList": lists / "sources.list",
        "Dir::Etc::SourceParts": lists / "parts",
        "Dir::State::Lists": lists / "lists",
        "Dir::Cache": lists / "cache",
        "APT::Sandbox::User": "",  # its own user may not be able to write to this folder
    }
    options = [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]
    _run(["apt-get", *options, "--quiet", "update"], folder)
    source = ["source", "--quiet", "--download-only", "--tar-only", "--only-source", corpus.package]
    _run(["apt-get", *options, *source], folder)


REGISTRIES: dict[str, Callable[[Corpus, Path], None]] = {
    "pypi": _fetch_pypi,
    "npm": _fetch_npm,
    "debian": _fetch_debian,
}
"""How an archive gets from its registry into an empty folder."""


def _run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CorpusError(f"{command[0]} is not installed") from error
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout).strip().splitlines()
        raise CorpusError(f"{command[0]} failed: {' / '.join(lines[-3:])}") from error
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
