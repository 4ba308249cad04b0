"""The command line: the program ``rulec`` itself, in this process."""

from __future__ import annotations

import signal
import sys

from ._rulec import command_line


def main() -> None:
    """Runs the command line and ends with its exit status."""
    # Python only notes an interrupt while other code runs; the program ends at once, as it does by itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    sys.exit(command_line(["rulec", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
