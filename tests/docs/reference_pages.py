"""The pages of the reference that are written from the code: commands, exit codes, public names, keys of recipes.

`python -m tests.reference` writes them again; a test holds them to the code.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import click

import pramana
from pramana import errors
from pramana.app.main import cli
from pramana.methods.registry import certificate_schema, recipe_schema

WRITTEN = "<!-- written from the code by `python -m tests.reference` -->"
# What the public functions give back, in the order of a release's life.
RESULTS = (
    "pramana.holder.inspect.Inspection",
    "pramana.holder.draft_recipe.DraftedRecipe",
    "pramana.run.outlook.Outlook",
    "pramana.run.outlook.Comparison",
    "pramana.run.release.Released",
    "pramana.run.verify.Verification",
    "pramana.recipient.study.Questions",
    "pramana.recipient.study.Study",
    "pramana.recipient.cell_study.CellStudy",
    "pramana.recipient.answers.Crosstab",
    "pramana.recipient.synthesis.Synthesised",
    "pramana.run.levels.Created",
    "pramana.run.levels.Issued",
    "pramana.holder.audit.collusion.Collusion",
)


def pages() -> dict[str, str]:
    return {
        "api.md": api_page(),
        "commands.md": commands_page(),
        "exit-codes.md": exit_codes_page(),
        "recipe.md": recipe_page(),
        "certificate-fields.md": certificate_page(),
    }


def _page(*paragraphs: str) -> str:
    return "\n\n".join(paragraph.strip("\n") for paragraph in (paragraphs[0], WRITTEN, *paragraphs[1:])) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *(tuple(_cell(cell) for cell in row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# Commands


def commands_page() -> str:
    intro = (
        "Every command says the same with `--help`. With `--json` one JSON object goes to standard output; words "
        "and progress go to standard error. What the [exit codes](exit-codes.md) mean is the same everywhere."
    )
    root = click.Context(cli, info_name="pramana")
    rows = [
        (f"[`{name}`](#pramana-{name})", _command(cli, name, root).get_short_help_str(200))
        for name in cli.list_commands(root)
    ]
    sections = [
        section for name in cli.list_commands(root) for section in _sections(_command(cli, name, root), root)
    ]
    return _page("# Commands", intro, _table(("command", "what it does"), rows), *sections)


def _command(group: click.Group, name: str, context: click.Context) -> click.Command:
    command = group.get_command(context, name)
    assert command is not None and command.name == name
    return command


def _sections(command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=command.name, parent=parent)
    level = "##" if parent.parent is None else "###"
    yield f"{level} {context.command_path}"
    yield " ".join(inspect.cleandoc(command.help or "").replace("\b", "").split())
    usage = [context.command_path, *command.collect_usage_pieces(context)]
    yield f"```console\n{' '.join(usage)}\n```"
    options = [_option(param) for param in command.params if isinstance(param, click.Option) and not param.hidden]
    if options:
        yield _table(("option", "meaning"), options)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _sections(_command(command, name, context), context)


def _option(option: click.Option) -> tuple[str, str]:
    """Its names with what it takes, and its help; not in click's own words, which change with its versions."""
    kind = option.type
    if isinstance(kind, click.Choice):
        takes = " " + " or ".join(str(choice) for choice in kind.choices)
    else:
        takes = "" if option.is_flag else f" {kind.name.partition(' ')[0].upper()}"
    words = [option.help or ""]
    if isinstance(kind, click.IntRange | click.FloatRange):
        words += [f"At least {kind.min}."] if kind.min is not None else []
        words += [f"At most {kind.max}."] if kind.max is not None else []
    words += ["Required."] if option.required else []
    words += ["May be repeated."] if option.multiple and "repeated" not in words[0] else []
    if isinstance(option.default, str | int | float) and option.default != "" and not option.is_flag:
        words.append(f"Default: {option.default}.")
    return f"`{', '.join([*option.opts, *option.secondary_opts])}{takes}`", " ".join(words)


# Exit codes


def exit_codes_page() -> str:
    tree = [
        kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.PramanaError)
    ]
    tree.sort(key=lambda kind: inspect.getsourcelines(kind)[1])
    rows = [
        (f"`{kind.__name__}`", f"`{kind.__base__.__name__}`" if kind.__base__ else "", str(kind.exit_code),
         (inspect.getdoc(kind) or "").partition("\n")[0])
        for kind in tree
    ]  # fmt: skip
    codes = [
        ("0", "done"),
        ("1", "everything could be read, and a check said no: `verify`, `audit`, `hierarchy check`, "
              "`recipe check`"),
        ("2", "what was given cannot be used; one line on standard error, and nothing was written"),
        ("70", "an error that nobody foresaw; `PRAMANA_DEBUG=1` shows where. Its message may quote data, so only "
               "its kind is shown without"),
        ("130", "interrupted: each output is either whole or not there"),
    ]  # fmt: skip
    words = (
        "An error is one line on standard error: what must hold, what was got, and what may help. It never holds "
        "a record's values, except on your own screen where you asked for them by `--show-values`. A check that "
        "says no has its findings on standard output, a line for each, or one JSON object with `--json`."
    )
    python = (
        "In Python everything that Pramana raises on purpose is a `pramana.PramanaError` with `must`, `got`, "
        "`hint` and `exit_code`, also for an argument of the wrong kind. Where the command line ends with "
        "1, functions return what they found (`pramana.verify(...).valid` is false) and raise nothing. The others "
        "are in `pramana.errors`:"
    )
    return _page(
        "# Exit codes and errors", words, _table(("code", "meaning"), codes), "## In Python", python,
        _table(("class", "is a", "exit code", "when"), rows),
    )  # fmt: skip


# Public names


def api_page() -> str:
    intro = (
        "The public names of `pramana`, with examples that the tests run. Everything else may change. The two "
        "modules, `pramana.datasets` and `pramana.models`, follow, then what the functions give back."
    )
    parts = ["## Functions", *(f"::: pramana.{name}" for name in _public(inspect.isfunction))]
    parts += ["## Classes", *(f"::: pramana.{name}" for name in _public(inspect.isclass))]
    for title, module in (("pramana.datasets", pramana.datasets), ("pramana.models", pramana.models)):
        words = (inspect.getdoc(module) or "").partition("\n")[0]
        names = [name for name in module.__all__ if callable(vars(module)[name])]
        parts += [f"## {title}", words, *(f"::: {module.__name__}.{name}" for name in names)]
    return _page("# Python", intro, *parts, "## What functions give back", *(f"::: {name}" for name in RESULTS))


def _public(of_kind: Any) -> list[str]:
    names = sorted(set(pramana.__all__) - {"__version__"}, key=str.lower)
    return [name for name in names if of_kind(getattr(pramana, name))]


def returned_classes() -> set[str]:
    """The names of classes that public functions are annotated to give back."""
    told = (str(getattr(pramana, name).__annotations__["return"]) for name in _public(inspect.isfunction))
    return {word for words in told for word in re.findall(r"[A-Z]\w+", words)}


# Keys of recipes and fields of certificates


def recipe_page() -> str:
    schema = recipe_schema()
    definitions = schema["$defs"]
    intro = (
        "A recipe is a TOML file of these sections. Keys that a section does not have are refused. Editors take "
        "the [JSON Schema](recipe.schema.json), which `pramana recipe schema` prints; `pramana recipe check FILE` "
        "says what is wrong with a recipe. [Publish a table](../guide/release.md) explains one line by line."
    )
    parts: list[str] = []
    used: set[str] = set()
    for section in ("about", "source", "unit", "output", "ledger", "survey"):
        name = _name_of(schema["properties"][section])
        used.add(name)
        parts += [f"## `[{section}]`", *_fields(definitions[name])]
    parts += ["## `[release]` and `[attributes.NAME]`, by method", "Without `method` it is `retention`."]
    for branch in schema["allOf"]:
        method, release, column = _branch(branch)
        used |= {release, column}
        parts += [f"### {method}: `[release]`", *_fields(definitions[release])]
        parts += [f"### {method}: `[attributes.NAME]`", *_fields(definitions[column])]
    rest = [name for name in definitions if name not in used and definitions[name].get("properties")]
    parts += [
        "## Tables within sections",
        *(p for name in rest for p in (f"### {name}", *_fields(definitions[name]))),
    ]
    return _page("# Recipe", intro, *parts)


def _branch(branch: dict[str, Any]) -> tuple[str, str, str]:
    method = branch["if"]["properties"]["release"]["properties"]["method"]["const"]
    then = branch["then"]["properties"]
    return method, _name_of(then["release"]), _name_of(then["attributes"]["additionalProperties"])


def certificate_page() -> str:
    definitions = certificate_schema()["$defs"]
    intro = (
        "The fields of `certificate.json`, from its [JSON Schema](certificate.schema.json). What they mean, and "
        "how the promises follow from them, is in [the certificate](../certificate.md)."
    )
    parts = [p for name in definitions for p in (f"## {name}", *_fields(definitions[name]))]
    return _page("# Fields of the certificate", intro, *parts)


def _name_of(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _fields(definition: dict[str, Any]) -> list[str]:
    words = [str(definition["description"])] if "description" in definition else []
    if "enum" in definition:
        return [*words, _kind(definition)]
    needed = set(definition.get("required", ()))
    rows = [
        (f"`{key}`", _kind(field), "required" if key in needed else _default(field), field.get("description", ""))
        for key, field in definition.get("properties", {}).items()
    ]
    return [*words, _table(("key", "is", "default", "meaning"), rows)] if rows else words


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    return "" if value is None or value in ([], {}) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _kind(field: dict[str, Any]) -> str:
    if "$ref" in field:
        name = _name_of(field)
        return f"`{name}`"
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    if "anyOf" in field:
        kinds = (_kind(one) for one in field["anyOf"] if one.get("type") != "null")
        return " or ".join(dict.fromkeys(kinds))
    kind = field.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array" and isinstance(field.get("items"), dict):
        return f"list of {_kind(field['items'])}"
    if kind == "object":
        inner = field.get("additionalProperties")
        return f"table of {_kind(inner)}" if isinstance(inner, dict) and inner else "table"
    words = {"string": "text", "number": "number", "integer": "whole number", "boolean": "true or false"}
    return words.get(str(kind), str(kind))
