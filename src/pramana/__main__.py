"""`python -m pramana`."""

from __future__ import annotations

from pramana.app.main import main

main()
