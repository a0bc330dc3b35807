"""What a column's name hints at, in several languages. A hint helps a guess that values support; it never decides.

Words are compared without accents and case, whole or, for long ones, as the beginning of a compound
(Geburtsdatum, fecha_nacimiento).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

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
