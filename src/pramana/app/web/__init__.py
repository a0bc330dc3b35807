"""What pages served on one's own machine share: the guard, one visitor's session, assets, templates, the server.

The packages behind it are an extra; nothing here is imported before a command that serves pages is called.
"""
