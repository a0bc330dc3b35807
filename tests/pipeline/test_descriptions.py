"""Releases described for catalogues: complete, escaped, of the certificate's strength, and whole or not there."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml
from tests.golden import cells

import pramana
from pramana import Key, Recipe
from pramana.app.main import run
from pramana.bundle.bundle import Bundle
from pramana.errors import BundleError, InputError

HOSTILE = "<x>&\"': {a: b} # - |\n\u202e]]>"
ABOUT = {
    "title": HOSTILE,
    "holder": "Office: of <Statistics> #1",
    "holder_kind": "government",
    "date": "2026-03-31",
    "purpose": "teaching",
    "license": "https://creativecommons.org/licenses/by/4.0/",
    "region": "Utopia",
}
SAMPLE = ("retention epsilon", "matrix", "levels", "invariant", "generalize labels", "microaggregate", "swap rank")
WITHOUT = ("invariant", "generalize labels", "microaggregate", "swap rank")  # differential privacy
KEY = Key(bytes(range(32)))


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("described")
    cells.make_tables(folder)
    for name in SAMPLE:
        recipe = cells.document(*cells.SETTINGS[name], cells.path_of(name, "csv"), "csv")
        pramana.release(Recipe.parse({**recipe, "about": ABOUT}, folder), folder / name, key=KEY)
    plain = cells.document(*cells.SETTINGS["retention k"], "people.parquet", "parquet")
    pramana.release(Recipe.parse(plain, folder), folder / "plain", key=KEY)
    pramana.release(Recipe.parse({**plain, "about": ABOUT}, folder), folder / "seeded", seed=7)
    return folder


# ---------------------------------------------------------------- the registry

TEXT, WHOLE = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 1}


def table(properties: Mapping[str, Any], *optional: str) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def one_of(*values: str) -> dict[str, Any]:
    return {"enum": list(values)}


# The fields, kinds and lists of values of the registry's schema, as far as a release fills them in.
CURATOR = table({"data_curator_name": TEXT, "data_curator_type": one_of("Government", "Industry", "Nonprofit")})
RECORD = table(
    {
        "url_slug": {"type": "string", "pattern": "^[a-z0-9-]+$"},
        "deployment": table(
            {
                "basic": table(
                    {
                        "name": TEXT,
                        "data_curators": {"type": "array", "items": CURATOR, "minItems": 1},
                        "description": TEXT,
                        "intended_use": TEXT,
                        "data_product_type": one_of("Dataset"),
                        "data_product_region": TEXT,
                        "publication_date": TEXT,
                    }
                ),
                "dp_variant": table(
                    {"variant_name": one_of("Pure DP"), "data_domain": TEXT, "unprotected_quantities": TEXT}
                ),
                "privacy_loss": table(
                    {
                        "privacy_unit": TEXT,
                        "privacy_unit_details": TEXT,
                        "number_of_privacy_units": WHOLE,
                        "privacy_parameters": table({"epsilon": {"type": "number", "exclusiveMinimum": 0}}),
                        "privacy_parameters_details": TEXT,
                    }
                ),
                "deployment_model": table(
                    {
                        "model_name": one_of("Local", "Central"),
                        "model_name_details": TEXT,
                        "trust_assumptions": TEXT,
                        "release_type": one_of("One release", "Many releases"),
                        "release_type_details": TEXT,
                        "data_source_type": one_of("Static"),
                        "access_type": one_of("Non-interactive"),
                    }
                ),
                "implementation": table(
                    {
                        "preprocessing_and_hyperparameter_tuning": TEXT,
                        "mechanisms": TEXT,
                        "composition": TEXT,
                        "post_processing": TEXT,
                        "justification": TEXT,
                        "additional_information": TEXT,
                    }
                ),
                "administrative": table(
                    {
                        "status": one_of("Draft"),
                        "registry_authors": {"type": "array", "items": TEXT, "minItems": 1},
                        "tier": {"enum": [1, 2, 3]},
                    }
                ),
            }
        ),
    }
)


@pytest.mark.parametrize("name", [name for name in SAMPLE if name not in WITHOUT])
def test_a_record_of_the_registry_has_the_certificates_numbers(name: str, released: Path, tmp_path: Path) -> None:
    path = pramana.export(released / name, tmp_path / "record.yaml", form="opendp-registry")
    record = yaml.safe_load(path.read_text())
    jsonschema.validate(record, RECORD)
    deployment, certificate = record["deployment"], Bundle.open(released / name).certificate
    (local,) = (g for g in certificate.guarantees if g["notion"] == "local-differential-privacy")
    assert deployment["privacy_loss"]["privacy_parameters"]["epsilon"] == local["value"]
    assert local["words"] in deployment["privacy_loss"]["privacy_parameters_details"]
    for column in local["uncovered"]:
        assert column in deployment["dp_variant"]["unprotected_quantities"]
    basic = deployment["basic"]
    assert date.fromisoformat(basic["publication_date"]) == date(2026, 3, 31)
    assert basic["name"] == HOSTILE.replace("\n", "\\n").replace("\u202e", "\\u202e")
    assert deployment["deployment_model"]["model_name"] == "Central", "the holder has the true table"
    assert (deployment["deployment_model"]["release_type"] == "Many releases") == (name == "levels")


@pytest.mark.parametrize("name", WITHOUT)
def test_a_method_without_differential_privacy_is_refused_by_name(
    name: str, released: Path, tmp_path: Path
) -> None:
    with pytest.raises(BundleError, match=f"method '{name.split()[0]}', which promises"):
        pramana.export(released / name, tmp_path / "record.yaml", form="opendp-registry")
    assert not any(tmp_path.iterdir())


def test_a_release_that_is_not_private_or_not_said_is_refused(released: Path, tmp_path: Path) -> None:
    out = tmp_path / "record.yaml"
    with pytest.raises(BundleError, match="made from a seed"):
        pramana.export(released / "seeded", out, form="opendp-registry")
    with pytest.raises(InputError, match=r"no holder, holder_kind, date\. Add --about holder=\.\.\."):
        pramana.export(released / "plain", out, form="opendp-registry")
    said = {"holder": "H", "holder_kind": "industry", "date": "spring"}
    with pytest.raises(InputError, match=r"about\.date must be a day"):
        pramana.export(released / "plain", out, form="opendp-registry", about=said)
    with pytest.raises(InputError, match=r"about\.holder must be as the certificate has it"):
        pramana.export(released / "matrix", tmp_path / "d.xml", form="ddi", about={"holder": "Another"})
    for wrong in ({"holder_kind": "secret"}, {"titel": "x"}, {"holder": ""}):
        with pytest.raises(InputError, match="about"):
            pramana.export(released / "plain", tmp_path / "d.xml", form="ddi", about=wrong)
    assert not any(tmp_path.iterdir())
    done = pramana.export(
        released / "plain", tmp_path / "r.yaml", form="opendp-registry", about={**said, "date": "2026-01-01"}
    )
    jsonschema.validate(yaml.safe_load(done.read_text()), RECORD)


# ---------------------------------------------------------------- Croissant


@pytest.mark.parametrize("name", ["retention epsilon", "microaggregate", "plain"])
def test_croissant_is_read_by_its_own_library(name: str, released: Path, tmp_path: Path) -> None:
    path = pramana.export(released / name, tmp_path / "croissant.json", form="croissant")
    stated = json.loads(path.read_text())
    bundle = Bundle.open(released / name)
    (file,) = stated["distribution"]
    assert file["sha256"] == bundle.certificate.files[bundle.data_path.name]["sha256"]
    for guarantee in bundle.certificate.guarantees:
        assert guarantee["words"] in stated["description"]
    shutil.copy(bundle.data_path, tmp_path / file["contentUrl"])
    with warnings.catch_warnings():  # of libraries that it uses
        warnings.simplefilter("ignore")
        import mlcroissant

        read = mlcroissant.Dataset(jsonld=str(path))
        assert read.metadata.issues.errors == set()
        (records,) = read.metadata.record_sets
        assert [field.name for field in records.fields] == list(next(iter(bundle.batches())).schema.names)
        first = next(iter(read.records("records")))
    row = next(iter(bundle.batches())).slice(0, 1).to_pylist()[0]
    texts = [value.decode() if isinstance(value, bytes) else str(value) for value in first.values()]
    assert texts == [str(value) for value in row.values()]


# ---------------------------------------------------------------- DDI Codebook

# Of codebook.xsd of DDI Codebook 2.5 (2012-01-17; read in the repository ncrncornell/ddi-schemas, 2.5/schemas):
# the children that an element may have, in their order; * may be repeated, ! must be there. Elements that are not
# here have text alone.
CHILDREN = {
    "codeBook": "docDscr* stdyDscr!* fileDscr* dataDscr* otherMat*",
    "stdyDscr": "citation!* studyAuthorization* stdyInfo* studyDevelopment* method* dataAccs* othrStdyMat* notes*",
    "citation": "titlStmt! rspStmt prodStmt distStmt serStmt* verStmt* biblCit holdings* notes*",
    "titlStmt": "titl! subTitl* altTitl* parTitl* IDNo*",
    "rspStmt": "AuthEnty* othId*",
    "prodStmt": "producer* copyright prodDate* prodPlac* software* fundAg* grantNo*",
    "distStmt": "distrbtr* contact* depositr* depDate* distDate",
    "stdyInfo": "studyBudget* subject* abstract* sumDscr* qualityStatement notes* exPostEvaluation*",
    "sumDscr": "timePrd* collDate* nation* geogCover* geogUnit* geoBndBox boundPoly anlyUnit* universe* dataKind*",
    "method": "dataColl* notes* anlyInfo stdyClas dataProcessing* codingInstructions*",
    "dataAccs": "setAvail* useStmt* notes*",
    "useStmt": "confDec specPerm restrctn contact* citReq deposReq conditions disclaimer",
    "fileDscr": "fileTxt* locMap notes*",
    "fileTxt": "fileName fileCitation fileCont fileStrc dimensns fileType format filePlac dataChck* ProcStat "
    "dataMsng software* verStmt",
    "dimensns": "caseQnty* varQnty* logRecL* recPrCas* recNumTot*",
    "dataDscr": "varGrp* nCubeGrp* var* nCube* notes*",
    "var": "location* labl* imputation security embargo respUnit anlysUnit qstn* valrng* invalrng* undocCod* "
    "universe* TotlResp sumStat* txt* stdCatgry* catgryGrp* catgry* codInstr* verStmt* concept* derivation "
    "varFormat geoMap* catLevel* notes*",
    "catgry": "catValu labl* txt* catStat* mrow",
}
# The attributes that we write, with what they may say: a pattern.
NAME = r"[A-Za-z_][\w.-]*"
ATTRIBUTES = {
    "codeBook": {"version": r"2\.5"},
    "fileDscr": {"ID": NAME},
    "var": {
        "ID": NAME,
        "name": ".+",
        "files": NAME,
        "intrvl": "contin|discrete",
        "nature": "nominal|ordinal|interval|ratio|percent|other",
    },
    "varFormat": {"type": "character|numeric", "category": "date|time|currency|other"},
    "software": {"version": ".*"},
    "distDate": {"date": ".*"},
    "fileType": {"charset": ".*"},
    "notes": {"type": ".*"},
}
REQUIRED = {"var": {"name"}}


def problems_of(element: ElementTree.Element) -> list[str]:
    """What the schema would refuse, of the elements and attributes that we write."""
    name = element.tag.removeprefix("{ddi:codebook:2_5}")
    known = ATTRIBUTES.get(name, {})
    wrong = [f"{name}: {key}" for key, said in element.items() if not re.fullmatch(known.get(key, "(?!)"), said)]
    wrong += [f"{name} lacks {key}" for key in REQUIRED.get(name, set()) - set(element.keys())]
    allowed = CHILDREN.get(name, "").split()
    order = [word.rstrip("*!") for word in allowed]
    tags = [child.tag.removeprefix("{ddi:codebook:2_5}") for child in element]
    strangers = [tag for tag in tags if tag not in order]
    wrong += [f"{name} has {tag}" for tag in strangers]
    if not strangers and [order.index(tag) for tag in tags] != sorted(order.index(tag) for tag in tags):
        wrong.append(f"{name}: order")
    for word, tag in zip(allowed, order, strict=True):
        if "!" in word and tag not in tags:
            wrong.append(f"{name} lacks {tag}")
        if "*" not in word and tags.count(tag) > 1:
            wrong.append(f"{name} repeats {tag}")
    return wrong + [problem for child in element for problem in problems_of(child)]


@pytest.mark.parametrize("name", ["retention epsilon", "swap rank", "plain"])
def test_a_codebook_has_what_the_schema_asks_for(name: str, released: Path, tmp_path: Path) -> None:
    root = ElementTree.parse(pramana.export(released / name, tmp_path / "book.xml", form="ddi")).getroot()
    assert root.tag == "{ddi:codebook:2_5}codeBook" and problems_of(root) == []
    certificate = Bundle.open(released / name).certificate
    texts = [text for element in root.iter() if (text := element.text)]
    for guarantee in certificate.guarantees:
        assert guarantee["words"] in texts
    variables = root.findall(".//{*}var")
    assert [v.get("name") for v in variables] == [a.name for a in certificate.attributes]
    for variable, attribute in zip(variables, certificate.attributes, strict=True):
        values = [value.text for value in variable.findall(".//{*}catValu")]
        if attribute.domain is not None and attribute.domain.numbers is None:
            assert values == list(attribute.domain.as_published().labels)
    identifiers = [element.get("ID") for element in root.iter() if element.get("ID")]
    assert len(identifiers) == len(set(identifiers))
    assert {variable.get("files") for variable in variables} <= set(identifiers)


@pytest.mark.parametrize(
    ("wrong", "problems"),
    [
        (
            '<codeBook x="1"><dataDscr/><fileDscr/></codeBook>',
            ["codeBook: x", "codeBook: order", "codeBook lacks stdyDscr"],
        ),
        ("<titlStmt><IDNo/><titl/></titlStmt>", ["titlStmt: order"]),
        ("<rspStmt><titl/></rspStmt>", ["rspStmt has titl"]),
        ("<titl><emph/></titl>", ["titl has emph"]),
        ("<useStmt><restrctn/><restrctn/></useStmt>", ["useStmt repeats restrctn"]),
        ('<var intrvl="many"/>', ["var: intrvl", "var lacks name"]),
        ('<fileDscr ID="1 2"/>', ["fileDscr: ID"]),
    ],
)
def test_the_check_of_codebooks_sees_what_is_wrong(wrong: str, problems: list[str]) -> None:
    book = re.sub(r"^<(\w+)", r'<\1 xmlns="ddi:codebook:2_5"', wrong)
    assert problems_of(ElementTree.fromstring(book)) == problems


# ---------------------------------------------------------------- the command, and what is refused


def test_by_command(released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.yaml"
    said = ["--about", "holder=H", "--about", "holder_kind=nonprofit", "--about", "date=2026-01-01"]
    line = ["export", str(released / "plain"), "--as", "opendp-registry", *said, "--out", str(out)]
    assert run([*line, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(out)}
    kept = out.read_bytes()
    assert run(line) == 2, "the file is there"
    assert out.read_bytes() == kept and list(tmp_path.iterdir()) == [out]
    assert capsys.readouterr().err.count("\n") == 1
    for wrong in (
        ["--as", "croissant", "--out", str(tmp_path / "c.yaml")],
        ["--as", "croissant", "--about", "holder", "--out", str(tmp_path / "c.json")],
        ["--about", "holder=H", "--out", str(tmp_path / "c.arrow")],
        ["--as", "ddi", "--out", str(tmp_path / "no" / "c.xml")],
    ):
        assert run(["export", str(released / "plain"), *wrong]) == 2, wrong
        assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [out]
    with pytest.raises(InputError, match="must be one of opendp-registry, croissant, ddi"):
        pramana.export(released / "plain", tmp_path / "x.xml", form="mods")


def test_cells_that_are_lists_and_damaged_bundles_are_refused(released: Path, tmp_path: Path) -> None:
    cells.make_tables(tmp_path)
    recipe = cells.document(*cells.SETTINGS["generalize pdf"], "people.parquet", "parquet")
    bundle = pramana.release(Recipe.parse(recipe, tmp_path), tmp_path / "lists", seed=7).bundle
    with pytest.raises(BundleError, match="one value in each cell"):
        pramana.export(bundle, tmp_path / "c.json", form="croissant")
    shutil.copytree(released / "plain", tmp_path / "damaged")
    (tmp_path / "damaged" / "data.parquet").write_bytes(b"PAR1")
    with pytest.raises(BundleError):
        pramana.export(tmp_path / "damaged", tmp_path / "c.json", form="croissant")
    assert not (tmp_path / "c.json").exists()
