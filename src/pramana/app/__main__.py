"""`python -m pramana.app`."""

from pramana.app.main import main

main()
