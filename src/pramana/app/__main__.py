"""`python -m pramana.app`."""

from __future__ import annotations

from pramana.app.main import main

main()
