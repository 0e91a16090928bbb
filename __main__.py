"""Owns the entry of every process: which program a command line means; imports it only then."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line with the process's arguments, and exit."""
    try:
        # What must start fastest is chosen here, before anything else is imported.
        from .cli.app import foveal

        foveal.main(prog_name="foveal")
    except KeyboardInterrupt:  # while modules were still being imported
        sys.exit(130)


if __name__ == "__main__":
    main()
