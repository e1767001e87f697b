"""Runs a command with a Postgres that has pgvector, whose address it finds in SUPERSTEP_TEST_DATABASE_URI."""

import os
import subprocess
import sys
import tempfile

import pgserver

with tempfile.TemporaryDirectory(prefix="superstep-pgvector-") as folder:
    # As root, pgserver runs Postgres under a user of its own.
    os.chmod(folder, 0o755)
    data = os.path.join(folder, "data")
    with pgserver.get_server(data, cleanup_mode="stop"):
        address = f"postgresql://postgres@localhost/postgres?host={data}"
        command = subprocess.run(sys.argv[1:], env={**os.environ, "SUPERSTEP_TEST_DATABASE_URI": address})
sys.exit(command.returncode)
