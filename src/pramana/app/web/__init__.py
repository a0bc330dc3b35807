"""What pages served on one's own machine share: the guard, one visitor's session, assets, templates, the server.

The packages behind it are an extra; nothing here is imported before a command that serves pages is called.
"""

from pramana.app.web.assets import Asset, Assets
from pramana.app.web.guard import POLICY, Guard
from pramana.app.web.pages import Pages
from pramana.app.web.serving import Listener, serve
from pramana.app.web.visitor import Visitor

__all__ = ["POLICY", "Asset", "Assets", "Guard", "Listener", "Pages", "Visitor", "serve"]
