"""The command line: runs the program ``rulec`` in this process."""

from __future__ import annotations

import signal
import sys

from ._rulec import command_line


def main() -> None:
    """Runs the command line and exits with its status."""
    # Python delays an interrupt while native code runs. With the default action, the program ends
    # at once, like the native program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    sys.exit(command_line(["rulec", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
