"""One module for each group of commands; each loads when it is called."""
