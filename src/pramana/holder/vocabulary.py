"""An inspection in words, for a screen."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pramana.errors import PramanaError
from pramana.methods.recipe import Recipe
from pramana.theory import rounding

if TYPE_CHECKING:
    from pramana.holder.inspect import ColumnReport, Inspection
    from pramana.holder.risk import TableRisk


MOST_SUBSETS = 8
NOTES = {
    "constant": "constant",
    "near-unique": "nearly unique",
    "free-text": "free text",
    "repeated-identifier": "repeats",
    "missing-codes": "codes for missing values suspected",
    "decimal-comma": "written with a decimal comma",
    "thousands-marks": "written with marks at every third digit",
    "day-or-month-first": "days and months cannot be told apart",
    "blanks-around-values": "blanks around values",
}
_WIDE = 24


def lines_of(found: Inspection) -> list[str]:
    from pramana.holder.inspect import NOTICE

    lines = [NOTICE, "", f"{found.source}: {found.records:,} records, {len(found.columns)} columns", ""]
    widest = max([len(column.name) for column in found.columns] + [6])
    wide = min(widest, _WIDE)
    lines.append(f"{'column':<{wide}}  {'kind':<8} {'role':<17} {'distinct':>9} {'missing':>9}  reason")
    for column in found.columns:
        lines += _column(column, wide)
    if found.repeated_identifiers:
        names = ", ".join(found.repeated_identifiers)
        lines += [
            "",
            f"Several rows belong to one unit: {names} repeats. Counts below are of rows, not of people.",
        ]
    lines.append("")
    if found.risk is None:
        return [*lines, "No quasi-identifying column was found; name them with --quasi to see the risk."]
    return [*lines, *_risk(found.risk, found.guessed)]


def _column(column: ColumnReport, wide: int) -> Iterator[str]:
    name = column.name if len(column.name) <= wide else column.name[: wide - 3] + "..."
    counts = f"{column.distinct:>9,} {column.missing:>9,}"
    yield f"{name:<{wide}}  {column.kind:<8} {column.role:<17} {counts}  {column.reason}"
    indent = " " * (wide + 2)
    if said := [NOTES[note] for note in column.notes if note != "missing-codes"]:
        yield f"{indent}{', '.join(said)}"
    if column.suspected_codes:
        several = "s" if column.suspected_codes > 1 else ""
        shown = f": {', '.join(column.codes)}" if column.codes else " (see them with --show-values)"
        yield (
            f"{indent}{column.suspected_codes} code{several} for missing values suspected in "
            f"{column.suspected_rows:,} rows{shown}"
        )
    if column.values:
        yield f"{indent}commonest: {', '.join(column.values)}"


def _risk(risk: TableRisk, guessed: bool) -> list[str]:
    how = "guessed; name your own with --quasi" if guessed else "as named"
    lines = [
        f"Risk today, for someone who knows {', '.join(risk.columns)} ({how}):",
        f"  {risk.uniques:,} of {risk.records:,} records are unique ({_share(risk.uniques, risk.records)}), "
        f"{risk.below_k:,} share their values with fewer than {risk.k - 1} others "
        f"({_share(risk.below_k, risk.records)})",
        f"  prosecutor (knows the person is in the table): at most {_up(risk.prosecutor)}, "
        f"on average {_up(risk.mean)}",
    ]
    if risk.journalist is not None:
        lines.append(f"  journalist (knows the person is in the population): at most {_up(risk.journalist)}")
    lines.append(f"  marketer (tries every record): {_up(risk.marketer)} of the records found")
    lines += _special(risk)
    if risk.individual is not None:
        own = risk.individual
        lines.append(
            f"  individual risk (Benedetti and Franconi): at most {_up(own.largest)}, {own.expected:,.1f} "
            f"re-identifications expected, {own.above:,} records above 1/{risk.k}"
        )
    lines += _population(risk)
    return lines


def _special(risk: TableRisk) -> Iterator[str]:
    special = risk.special
    by_size = ", ".join(f"{n:,} on {size}" for size, n in enumerate(special.minimal, 1) if n) or "none"
    yield (
        f"  minimal sample uniques (SUDA), up to {special.largest_subset} columns: {by_size}; "
        f"{special.special:,} records have one"
    )
    share = f"{special.fraction:.3g} of the population" + (", assumed" if special.fraction_assumed else "")
    yield f"  a unique match is right with a chance of {_up(special.dis)} (DIS, a sample of {share})"
    worst = [subset for subset in worst_subsets(risk) if subset[2]][:MOST_SUBSETS]
    if worst:
        yield "  the fewest columns that tell most:"
        for columns, uniques, below in worst:
            yield f"    {' x '.join(columns)}: {uniques:,} unique, {below:,} below {risk.k}"


def worst_subsets(risk: TableRisk) -> list[tuple[tuple[str, ...], int, int]]:
    """Of each size those with the most records at risk; few columns first."""
    by_size: dict[int, list[tuple[tuple[str, ...], int, int]]] = {}
    for subset in risk.subsets:
        by_size.setdefault(len(subset[0]), []).append(subset)
    return [
        subset for size in sorted(by_size) for subset in sorted(by_size[size], key=lambda s: (-s[1], -s[2]))[:3]
    ]


def _population(risk: TableRisk) -> Iterator[str]:
    found = risk.population
    if found is None:
        yield "  population uniqueness: state --weight or --population to have it estimated"
        return
    known = {"Zayatz": found.zayatz, "Pitman": found.pitman, "SNB": found.snb}
    said = ", ".join(f"{name} {'no fit' if n is None else f'{n:,.0f}'}" for name, n in known.items())
    yield (
        f"  unique in a population of {found.population:,}: {found.estimate:,.0f} people "
        f"({_up(found.share)}; {found.chosen}, by the rule of Dankar et al.; {said})"
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%"


def _up(chance: float) -> str:
    return rounding.shown_up(min(chance, 1.0), 4)


# What a column's name hints at, in several languages. A hint helps a guess that values support; it never
# decides.
#
# Words are compared without accents and case, whole or, for long ones, as the beginning of a compound
# (Geburtsdatum, fecha_nacimiento).


HINTS: dict[str, tuple[str, ...]] = {
    "identifier": (
        "id", "pid", "uid", "uuid", "guid", "idno", "key", "nr", "no", "num", "number", "nummer", "numero",
        "identifier", "kennung", "kennziffer", "ssn", "nin", "iban", "passport", "reisepass", "passnummer",
        "dni", "nif", "cpf", "pesel", "personnummer", "patient", "person", "member", "customer", "kunde",
        "client", "cliente", "account", "konto", "matricule", "versicherungsnummer", "sozialversicherung",
        "laufnummer", "codice", "respondent", "befragter", "case", "fall", "persnr", "pnr", "personid",
        "patientid", "userid", "caseid",
    ),
    "household": (
        "household", "hid", "hh", "hhid", "hhnr", "haushalt", "menage", "foyer", "hogar", "famiglia",
        "huishouden", "hushall", "family", "familie", "gospodarstwo", "domicilio",
    ),
    "name": (
        "name", "firstname", "surname", "lastname", "fullname", "vorname", "nachname", "familienname", "nom",
        "prenom", "nombre", "apellido", "apellidos", "cognome", "nome", "naam", "achternaam", "sobrenome",
        "imie", "nazwisko", "email", "mail", "phone", "telephone", "telefon", "telefono", "mobile", "handy",
        "address", "adresse", "direccion", "indirizzo", "adres", "street", "strasse", "rue", "calle", "via",
    ),
    "age": ("age", "alter", "edad", "eta", "idade", "leeftijd", "alder", "wiek", "lebensalter", "ageyears"),
    "birth": (
        "birth", "birthdate", "birthday", "dob", "born", "geburt", "geboren", "naissance", "nacimiento",
        "nascita", "nascimento", "geboorte", "fodelse", "urodzenia", "yob", "birthyear",
    ),
    "postcode": (
        "postcode", "postalcode", "postal", "zip", "zipcode", "plz", "postleitzahl", "codepostal",
        "codigopostal", "cap", "cep", "cp", "postnummer", "kod",
    ),
    "demographic": (
        "sex", "gender", "geschlecht", "sexe", "sexo", "sesso", "geslacht", "kon", "plec", "region", "state",
        "land", "bundesland", "province", "provincia", "provinz", "district", "kreis", "bezirk", "county",
        "canton", "kanton", "municipality", "gemeinde", "commune", "comune", "city", "town", "stadt", "ville",
        "ciudad", "citta", "country", "pays", "pais", "paese", "nationality", "nationalitat", "nationalite",
        "nacionalidad", "citizenship", "staatsangehorigkeit", "race", "ethnicity", "ethnic", "education",
        "bildung", "schulabschluss", "educacion", "istruzione", "degree", "occupation", "job", "profession",
        "beruf", "ocupacion", "professione", "employment", "employer", "labour", "labor", "industry",
        "branche", "marital", "civil", "familienstand", "estado", "stato", "workclass", "relationship",
        "residence", "urban", "rural", "language", "sprache", "langue", "idioma", "lingua", "children",
        "kinder", "enfants", "hijos", "height", "grosse",
    ),
    "sensitive": (
        "income", "einkommen", "revenu", "ingreso", "ingresos", "reddito", "inkomen", "salary", "gehalt",
        "lohn", "salaire", "salario", "stipendio", "wage", "wages", "earnings", "wealth", "vermogen", "debt",
        "schulden", "rent", "miete", "turnover", "umsatz", "diagnosis", "diagnose", "diagnostic",
        "diagnostico", "diagnosi", "disease", "illness", "krankheit", "maladie", "enfermedad", "malattia",
        "icd", "treatment", "behandlung", "health", "gesundheit", "sante", "salud", "salute", "hiv",
        "religion", "konfession", "religione", "party", "partei", "vote", "opinion", "score", "satisfaction",
        "zufriedenheit", "drug", "crime", "benefit", "tax", "steuer", "gain", "loss", "savings", "expend",
        "credit",
    ),
    "weight": (
        "weight", "wt", "wgt", "weights", "gewicht", "gewichtung", "hochrechnung", "poids", "ponderation",
        "peso", "ponderacion", "ponderacao", "waga", "vikt", "pweight", "hrf", "fnlwgt",
    ),
}  # fmt: skip
_LONG = 4  # letters from which the beginning of a compound counts
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@cache
def hints_of(name: str) -> frozenset[str]:
    """The meanings that a column's name hints at."""
    words = _words(name)
    return frozenset(
        meaning for meaning, known in HINTS.items() if any(_fits(word, hint) for word in words for hint in known)
    )


def _words(name: str) -> tuple[str, ...]:
    """The parts of a name, and all of them together."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    parts = [part.lower() for part in _PARTS.findall(plain)]
    letters = [part for part in parts if not part.isdigit()]
    return tuple(dict.fromkeys([*letters, "".join(letters)]))


def _fits(word: str, hint: str) -> bool:
    return word == hint or (len(hint) > _LONG and word.startswith(hint))


# What the recipes of this version know, found by asking: nothing is written that would be refused.


def is_known(content: Mapping[str, Any], column: Mapping[str, Any] | None = None) -> bool:
    """Whether a recipe with these sections, and a column of these keys, is one."""
    keys = {"role": "quasi-identifying", "domain": ["a", "b"]} if column is None else dict(column)
    whole = {"release": {"epsilon": 1.0}, "attributes": {"a": keys}, **content}
    try:
        Recipe.parse(whole)
    except PramanaError:
        return False
    return True


@cache
def knows_units() -> bool:
    return is_known({"unit": {"row": True}})


@cache
def knows_missing_lists() -> bool:
    return is_known({}, {"role": "quasi-identifying", "domain": ["a", "b"], "missing": ["99"]})


@cache
def knows_decimals() -> bool:
    return is_known({"source": {"path": "a.csv", "decimal": ","}})


@cache
def knows_widths() -> bool:
    return is_known({}, {"role": "quasi-identifying", "bins": {"width": 5, "from": 0, "to": 100}})
