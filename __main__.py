"""The entry of every process: decides which program a command line means, and imports only that."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line with the process's arguments, and exit."""
    try:
        # What must start fastest is chosen here, before anything else is imported.
        if sys.argv[1:2] == ["hook"]:
            from .hooks.hook import run

            run(sys.argv[2:])
        if sys.argv[1:2] == ["statusline"]:
            from .hooks.status_line import run as run_status_line

            run_status_line(sys.argv[2:])
        if sys.argv[1:2] == ["mcp"]:
            from .hooks.mcp_pump import main as serve_mcp

            return serve_mcp(sys.argv[2:])
        if sys.argv[1:2] == ["lsp"]:
            from .hooks.editors.lsp_pump import main as serve_lsp

            return serve_lsp(sys.argv[2:])
        if sys.argv[1:] == ["up", "--foreground"]:
            return _serve()
        from .cli.app import foveal

        foveal.main(prog_name="foveal")
    except KeyboardInterrupt:  # while modules were still being imported
        sys.exit(0 if sys.argv[1:2] == ["hook"] else 130)  # an agent isn't to hear of it


def _serve() -> None:
    """Run the daemon as a client starts it: without the command line, which is a tenth of what it imports."""
    import gc

    from .ipc.paths import keep_temporary_files

    gc.disable()  # what is imported stays; `serve` enables it when clients come
    keep_temporary_files(os.environ)
    from .daemon.app.records import UNABLE_TO_START
    from .daemon.app.service import prepare, serve

    try:
        serve(prepare(None, os.environ, log_to_file=sys.stdout is None or not sys.stdout.isatty()))
    except Exception as error:
        from .cli import terminal
        from .cli.errors import CliError, explain

        told = CliError(str(error)) if isinstance(error, UNABLE_TO_START) else explain(error)
        if told is None:
            raise
        terminal.show_error(told.message, told.hint)
        sys.exit(told.exit_code)


if __name__ == "__main__":
    main()
