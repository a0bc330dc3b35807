"""What a studio works on: the allowed folder, private files, the recipe, the dial, a release under way."""

from pramana.app.studio.work.allowed import AllowedFolder, ListedFile
from pramana.app.studio.work.dial import Dial, DialSetting
from pramana.app.studio.work.document import RecipeDocument
from pramana.app.studio.work.journey import Journey, attachment
from pramana.app.studio.work.private import PrivateFolder, Upload
from pramana.app.studio.work.received import BundleReading, csv_of, with_values
from pramana.app.studio.work.releasing import ReleaseJob

__all__ = [
    "AllowedFolder",
    "BundleReading",
    "Dial",
    "DialSetting",
    "Journey",
    "ListedFile",
    "PrivateFolder",
    "RecipeDocument",
    "ReleaseJob",
    "Upload",
    "attachment",
    "csv_of",
    "with_values",
]
