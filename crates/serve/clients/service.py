"""Starts the service for the tests with real clients."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path


@contextlib.contextmanager
def service(rules, *options):
    """Runs `rulec serve` with the text `rules`, and gives its address, such as http://127.0.0.1:8181."""
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "events", "w+") as events:
        path = Path(folder) / "support.rules"
        path.write_text(rules)
        command = [os.environ["RULEC"], "serve", str(path), "--listen", "127.0.0.1:0", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=events, text=True)
        address = process.stdout.readline().strip()
        if not address:
            events.seek(0)
            sys.exit(f"the service does not start: {events.read()}")
        try:
            yield address
        finally:
            process.terminate()
        if process.wait() != 0:
            sys.exit("the service has not answered all requests")


def check(name, found, expected):
    """Prints the name of a check, and ends the program if it fails."""
    if found != expected:
        sys.exit(f"{name}: {found!r} is not {expected!r}")
    print(f"ok {name}")
