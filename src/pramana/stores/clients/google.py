"""The client for Google Cloud Storage."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pramana.stores.clients.told import NOWHERE, check_file, environment_with, first, nobody, says_yes, server

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_RETRIES = datetime.timedelta(seconds=5)  # some three attempts, as with S3
_EMULATOR = "STORAGE_EMULATOR_HOST"
_KEY = "GOOGLE_APPLICATION_CREDENTIALS"
_MACHINE = ("GCE_METADATA_HOST", "GCE_METADATA_ROOT")
_ANONYMOUS = "GS_NO_SIGN_REQUEST"


def google_client(stated: Mapping[str, str]) -> FileSystem:
    from pyarrow.fs import GcsFileSystem

    options: dict[str, Any] = {"retry_time_limit": _RETRIES}
    emulator = stated.get(_EMULATOR)
    if emulator:  # it is told nobody's credentials, and has an address with or without its scheme
        address = emulator if "://" in emulator else f"http://{emulator}"
        found = server({_EMULATOR: address}, _EMULATOR)
        assert found is not None, "it is not empty"
        return GcsFileSystem(anonymous=True, scheme=found[0], endpoint_override=found[1], **options)
    if stated.get(_KEY):
        check_file(stated, _KEY)
        return GcsFileSystem(**options)  # the client looks there first, and nowhere else if it is set
    if says_yes(stated, _ANONYMOUS):
        return GcsFileSystem(anonymous=True, **options)
    if first(stated, *_MACHINE) is None:
        raise nobody(
            "Google Cloud Storage",
            f"Set {_KEY} to the file of a key, or {_MACHINE[0]} for the account of this machine, or "
            f"{_ANONYMOUS}=YES for a public bucket.",
        )
    with environment_with({"GOOGLE_GCLOUD_ADC_PATH_OVERRIDE": NOWHERE}):  # a login of gcloud would be taken first
        return GcsFileSystem(**options)
