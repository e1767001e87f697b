"""Starts the worker: `python <this file>`. Its folder contains only the package, so the folder on `sys.path` hides no
module of the user."""

import sys

if sys.version_info < (3, 10):
    sys.exit(f"the Python worker needs Python 3.10 or newer, and {sys.executable} is {sys.version.split()[0]}")

from superstep_worker.main import main  # noqa: E402

main()
