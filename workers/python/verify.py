"""Loads every Python graph of a project and reports the result: `python verify.py <langgraph.json> [result file]`.

The build calls it in a child process with a time limit. It writes one line of JSON, in the form of `workers/js/src/verify.ts`, to
standard output, or to the result file, which cannot contain output of user code. Exit code 0 when all graphs load, else 1.
"""

import sys

if sys.version_info < (3, 10):
    sys.exit(f"the Python worker needs Python 3.10 or newer, and {sys.executable} is {sys.version.split()[0]}")

from superstep_worker.verify import main  # noqa: E402

main(sys.argv[1:])
