"""Texts that a spreadsheet would run when it opens a CSV file, and how they are kept from it.

OWASP, "CSV Injection", and its ASVS 5, 1.2.10: a cell that begins with one of = + - @, a tab, a line's end or a
zero byte may be taken for a formula; an apostrophe before it makes it text. Some programs fold full-width signs.
A text that is a number and nothing else, as -5 is, runs nothing and stays as it is.
"""

from __future__ import annotations

import pyarrow as pa

from pramana.errors import SourceError
from pramana.sources.arrays import texts as text_array
from pramana.sources.columns import is_text, plain_type

_SIGNS = r"[=+\-@\t\r\n\x00＝＋－＠]"
_RUNS = rf"^{_SIGNS}"
_ESCAPABLE = rf"^'*{_SIGNS}"  # with apostrophes before: what was escaped can be told from what had one
_ESCAPED = rf"^'+{_SIGNS}"
_NUMBER = r"^[+-](?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def formula_columns(table: pa.Table) -> tuple[str, ...]:
    """The columns with a text, or with a name, that a spreadsheet may take for a formula.

    Of a dictionary every entry counts, whether a row has it or not: a published column's is its public domain,
    and what is said of that tells nothing of the rows.
    """
    return tuple(
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if _any_formula(text_array([name])) or any(_any_formula(texts) for texts in _texts_of(column))
    )


def _texts_of(column: pa.ChunkedArray) -> list[pa.Array]:
    if not is_text(plain_type(column.type)):
        return []
    if not pa.types.is_dictionary(column.type):
        return list(column.chunks)
    distinct: list[pa.Array] = []
    for chunk in column.chunks:
        if not distinct or not chunk.dictionary.equals(distinct[-1]):  # published pieces share one
            distinct.append(chunk.dictionary)
    return distinct


def _any_formula(texts: pa.Array) -> bool:
    import pyarrow.compute as pc

    runs = pc.match_substring_regex(texts, _RUNS)
    if not pc.any(runs).as_py():
        return False
    return bool(pc.any(pc.invert(pc.match_substring_regex(texts.filter(runs), _NUMBER))).as_py())


def escaped(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before every text that would be run; a name that would is refused."""
    for name in table.column_names:
        if _any_formula(text_array([name])):
            raise SourceError(
                "The name of a column in a CSV file must be none that a spreadsheet takes for a formula",
                repr(name),
            )
    return pa.table([_escaped_column(c) for c in table.columns], names=table.column_names)


def _escaped_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not is_text(plain_type(column.type)):
        return column
    if not pa.types.is_dictionary(column.type):
        return _escaped_texts(column)
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, _escaped_texts(chunk.dictionary)) for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, column.type)


def _escaped_texts(texts: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    number = pc.match_substring_regex(texts, _NUMBER)
    runs = pc.and_not(pc.match_substring_regex(texts, _ESCAPABLE), number)
    before = text_array(["'", ""]).cast(texts.type)
    return pc.if_else(runs, pc.binary_join_element_wise(before[0], texts, before[1]), texts)


def unescaped(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """What `escaped` was given: one apostrophe less where it added one."""
    import pyarrow.compute as pc

    return pc.if_else(pc.match_substring_regex(texts, _ESCAPED), pc.utf8_slice_codeunits(texts, 1), texts)
