"""Templates as answers: the report's look, everything escaped, and the addresses of the files they load."""

from __future__ import annotations

from starlette.responses import HTMLResponse

from pramana.app.web.assets import Assets
from pramana.pages import page_environment


class Pages:
    """The templates of some packages, those of this one, and the report's own."""

    def __init__(self, assets: Assets, *packages: str) -> None:
        self._assets = assets
        self._environment = page_environment(*packages, "pramana.app.web")

    def html(self, template: str, **context: object) -> str:
        return self._environment.get_template(template).render(
            {"assets": self._assets, "language": "en", **context}
        )

    def answer(self, template: str, status: int = 200, **context: object) -> HTMLResponse:
        return HTMLResponse(self.html(template, **context), status)

    def fault(self, status: int, title: str, words: str) -> HTMLResponse:
        """A page that says what went wrong, and nothing else."""
        return self.answer("fault.html", status, title=title, words=words)
