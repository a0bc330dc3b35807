"""The command line. Commands load on first use, so that `pramana --help` does not wait for Arrow or SciPy.

Exit codes: 0 done; 1 a check said no; 2 bad input, one line on standard error and nothing written. With --json
one object goes to standard output; words and progress go to standard error.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import json
import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from pramana import __version__
from pramana.errors import PramanaError, one_line

# module of `commands` -> command -> one line of help
_MODULES = json.loads(Path(__file__).with_name("commands").joinpath("commands.json").read_text("utf-8"))
COMMANDS: dict[str, tuple[str, str]] = {
    name: (module, text) for module, commands in _MODULES.items() for name, text in commands.items()
}


class Commands(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"pramana.app.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = difflib.get_close_matches(args[0], COMMANDS, 1)
        if near and args[0] not in COMMANDS:
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{near[0]}'?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="pramana")
def cli() -> None:
    """Publish person-level data with a privacy guarantee that is stated first, reached by calculation, and
    verifiable afterwards."""


def main() -> NoReturn:
    gc.set_threshold(50_000, 20, 20)  # loading modules makes many objects, and hardly any that could be let go of
    code = run(sys.argv[1:])
    gc.freeze()  # what is left goes with the process; a search for cycles in it takes longer than to load Arrow
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command line; every failure is one line on standard error."""
    try:
        result = cli.main(args=arguments, prog_name="pramana", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except PramanaError as error:
        return _fail(str(error), error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        return _fail(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted: each output is either whole or not there", 130)
    except BrokenPipeError:
        _let_go_of_output()
        return 0
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:  # else what could not be written is tried again, and fails again, when Python ends
            _let_go_of_output()
        which = error.filename if isinstance(error.filename, str) else "every file"
        return _fail(f"{which} must be usable, got {error.strerror or type(error).__name__}", 2)
    except MemoryError:
        return _fail("this needs more memory than there is", 2)
    except Exception as error:
        if os.environ.get("PRAMANA_DEBUG"):
            raise
        # The message of an unforeseen error may quote the data: only its kind is shown.
        return _fail(f"internal error ({type(error).__name__}); set PRAMANA_DEBUG=1 to see where", 70)


def _let_go_of_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> int:
    click.echo(f"pramana: {one_line(message)}", err=True)
    return code
