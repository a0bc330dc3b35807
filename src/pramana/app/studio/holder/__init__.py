"""The pages of publishing: Open, Columns, Job, Dial, Check, Release, Report."""

from pramana.app.studio.holder.columns import ColumnPages
from pramana.app.studio.holder.opening import OpenPages
from pramana.app.studio.holder.promises import PromisePages
from pramana.app.studio.holder.releases import ReleasePages

__all__ = ["ColumnPages", "OpenPages", "PromisePages", "ReleasePages"]
