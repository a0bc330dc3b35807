"""`python -m pramana`."""

from pramana.app.main import main

main()
