"""The interface between a device and the store, as OpenAPI: for other people's apps, and for tests."""

from __future__ import annotations

from typing import Any

from pramana import __version__
from pramana.collection.survey import Survey

_HEX = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_OUTCOMES = {
    "201": "stored",
    "400": "refused",
    "403": "uninvited",
    "409": "already",
    "410": "closed",
    "413": "too large",
    "415": "refused",
    "421": "asked for under another name",
    "429": "busy",
    "503": "not stored",
}
_WORDS = {
    "201": "The record is on disk.",
    "400": "What was sent is not a record of this survey; nothing was stored.",
    "403": "The invitation is unknown or was used, or the request came from another site; nothing was stored.",
    "409": "A record with this id was stored before; nothing was stored again.",
    "410": "The survey is closed; nothing was stored.",
    "413": "What was sent is too large; nothing was stored.",
    "415": "What was sent is not JSON; nothing was stored.",
    "421": "The server is asked for under a name that is not its own.",
    "429": "Too much comes from this network at the moment; nothing was stored.",
    "503": "The record could not be stored; try again with the same id.",
}
_PLAIN = ("413", "421")


def openapi_of(survey: Survey) -> dict[str, Any]:
    """What may be sent, value by value; the law by which to draw it is in /survey.json."""
    answers = {
        a.name: {"enum": [*a.coded.labels, None], "description": "A randomised answer; null is no answer."}
        for a in survey.plan.attributes
    }
    record: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["id", "answers"],
        "properties": {
            "id": {**_HEX, "description": "Drawn on the device; what is sent twice under it is stored once."},
            "answers": {
                "type": "object",
                "additionalProperties": False,
                "required": list(answers),
                "properties": answers,
            },
        },
    }
    if survey.invitations is not None:
        record["required"].append("invitation")
        record["properties"]["invitation"] = {**_HEX, "description": "The part of the link after #."}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pramana collector", "version": __version__},
        "paths": {
            "/survey.json": {
                "get": {
                    "summary": "The survey: questions, words, and the law by which answers are randomised.",
                    "responses": {"200": _answer("The definition.", {"type": "object"}), "421": _refusal("421")},
                }
            },
            "/records": {
                "post": {
                    "summary": "Send a record that was randomised on this device.",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": record}}},
                    "responses": {status: _refusal(status) for status in _OUTCOMES},
                }
            },
        },
    }


def _refusal(status: str) -> dict[str, Any]:
    if status in _PLAIN:
        return {"description": _WORDS[status], "content": {"text/plain": {"schema": {"type": "string"}}}}
    outcome = {"const": _OUTCOMES[status]}
    schema = {
        "type": "object",
        "required": ["outcome"],
        "properties": {"outcome": outcome, "reason": {"type": "string"}},
    }
    return _answer(_WORDS[status], schema)


def _answer(words: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}
