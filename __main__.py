"""Owns the entry of every process: which program a command line means; imports it only then."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line with the process's arguments, and exit."""
    try:
        # What must start fastest is chosen here, before anything else is imported.
        if sys.argv[1:2] == ["hook"]:
            from .hooks.hook import run

            run(sys.argv[2:])
        if sys.argv[1:2] == ["mcp"]:
            from .hooks.mcp_pump import main as serve_mcp

            return serve_mcp(sys.argv[2:])
        if sys.argv[1:2] == ["lsp"]:
            from .hooks.editors.lsp_pump import main as serve_lsp

            return serve_lsp(sys.argv[2:])
        from .cli.app import foveal

        foveal.main(prog_name="foveal")
    except KeyboardInterrupt:  # while modules were still being imported
        sys.exit(0 if sys.argv[1:2] == ["hook"] else 130)  # an agent isn't to hear of it


if __name__ == "__main__":
    main()
