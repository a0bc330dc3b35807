"""A release on a Spark standalone cluster with authentication and encryption: whatever is lost, the same bytes.

One cluster and one driver for most of it, because starting them is what takes time. The tests go through one story,
in the order in which they stand; `make cluster` goes through all of it for more methods.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.cluster.scenes import Scene, prepared
from tests.cluster.searching import found
from tests.cluster.standalone import Cluster, Driver, cluster, driver, wait_for
from tests.rows.people import same

pytest.importorskip("pyspark", reason="PySpark is not installed: the Spark engine is not tested")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("Java is not installed: the Spark engine is not tested", allow_module_level=True)
pytestmark = pytest.mark.xdist_group("cluster")
