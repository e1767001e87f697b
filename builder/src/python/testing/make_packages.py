"""Writes the packages of the index of the tests into the present folder."""

import io
import tarfile
import zipfile


def wheel(name: str, version: str, requires: str = "", python: str = "") -> None:
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += f"Requires-Dist: {requires}\n" if requires else ""
    metadata += f"Requires-Python: {python}\n" if python else ""
    with zipfile.ZipFile(f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def source(name: str, version: str) -> None:
    """A package without a wheel, whose build fails."""
    build = 'requires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "pyproject.toml": f'[project]\nname = "{name}"\nversion = "{version}"\n[build-system]\n{build}',
        "backend.py": "def build_wheel(*_, **__):\n    raise RuntimeError('there is no compiler')\n",
    }
    with tarfile.open(f"{name}-{version}.tar.gz", "w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{name}-{version}/{path}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))


wheel("common", "1.0")
wheel("common", "2.0")
wheel("alpha", "1.0", "common==1.0")
wheel("beta", "1.0", "common==2.0")
wheel("future", "1.0", python=">=3.99")
source("broken", "1.0")
