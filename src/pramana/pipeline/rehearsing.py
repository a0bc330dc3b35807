"""A release that leaves nothing: everything is opened, planned, checked and published, and written nowhere."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pramana.methods import method_named
from pramana.pipeline.opening import Home, RecipeLike, opened_source, read_recipe
from pramana.pipeline.promises import check_promises
from pramana.pipeline.repeats import watched_columns
from pramana.pipeline.usefulness import check_useful
from pramana.pipeline.writing import write_pieces
from pramana.randomness import Key
from pramana.sources import digest_of_written, write_table


def rehearse(recipe: RecipeLike, *, data: object = None) -> None:
    """Refuse what a release of this recipe would refuse. No file is made, and the key is forgotten.

    What does not fit in memory goes, encrypted, to a file without a name in the working directory.
    """
    read = read_recipe(recipe)
    method, source, key = method_named(read.method), opened_source(read, data), Key.create()
    can, watched = method.capabilities(read.release), watched_columns(read, source)
    form, escape = read.output.format, read.output.escape_formulas
    with Home(folder=Path.cwd()).open(
        source, method.readings(read), key, method.name, can, read.unit, watched
    ) as rows:
        plan = method.plan(read, rows)
        rows.settle(plan.attributes)
        publication = plan.publish(rows)
        check_useful(read, publication.plan, publication.usefulness, rows)
        digest_of_written(lambda sink: write_pieces(publication, sink, form, escape))
        for table in publication.extra.values():
            digest_of_written(partial(write_table, table, format="csv", escape_formulas=escape))
    check_promises(read.release, publication.plan.guarantees(key.seeded), read.release.waived)
    publication.plan.explain()
