"""In the browser a million draws per channel follow the law, and a weaker or a stronger one is caught.

The words are fixed, so the verdict is always the same; that the module takes them from the system otherwise is
tested beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.collection.vectors import FILE
from tests.statistical.thresholds import ACCEPT, BROWSER_DRAWS, KEY, REJECT, SHIFT

from pramana.mechanisms.channel import Dense, Redrawn, Retention
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.randomness.samplers import ONE

pytestmark = pytest.mark.xdist_group("browser")
MODULE = (FILE.parent / "lib" / "randomise.js").read_text()
SITE = "http://localhost/"  # where a page may use the browser's own ciphers; nothing listens there


def dense(size: int, rho: float) -> Dense:
    slope = np.linspace(1, 2, size)
    rows = [rho * (np.arange(size) == u) + (1 - rho) * np.roll(slope, u) / slope.sum() for u in range(size)]
    return Dense.of(np.array(rows))


def mechanism(kind: str, rho: float) -> Mechanism:
    if kind == "record":
        return RecordRetention.at(rho, {"a": 3, "b": 4})
    if kind == "redrawn":  # retention 0; a wrong one keeps a little
        return Product({"a": Redrawn(3) if rho == 0.3 else Retention.at(abs(rho - 0.3), 3)})
    return Product({"a": Retention.at(rho, 5) if kind == "retention" else dense(6, rho)})


@pytest.fixture(scope="module")
def workbench(browser: Any) -> Iterator[Any]:
    """A page with nothing but the module, and words to draw from."""
    page = browser.new_page()
    pages = {
        SITE: ("text/html", b"<!doctype html><title>module</title>"),
        f"{SITE}randomise.js": ("text/javascript", MODULE.encode()),
        f"{SITE}vectors.json": ("application/json", FILE.read_bytes()),
    }

    def serve(route: Any) -> None:
        kind, body = pages[route.request.url]
        route.fulfill(body=body, content_type=kind)

    page.route("**/*", serve)
    page.goto(SITE)
    yield page
    page.close()


COUNT = """async ([law, columns, draws, secret]) => {
  const { randomiserOf } = await import("/randomise.js");
  if (!window.stored) {
    const key = await crypto.subtle.importKey("raw", new Uint8Array(secret), "AES-CTR", false, ["encrypt"]);
    const counter = { name: "AES-CTR", counter: new Uint8Array(16), length: 64 };
    window.stored = new BigUint64Array(await crypto.subtle.encrypt(counter, key, new Uint8Array(24 * draws)));
  }
  let next = 0;
  const one = randomiserOf(law, columns, () => window.stored[next++]);
  const seen = one.sizes.map((size) => new Array(size * size).fill(0));
  for (let i = 0; i < draws; i++) {
    const codes = one.sizes.map((size) => i % size);
    one.randomise(codes).forEach((sent, a) => { seen[a][codes[a] * one.sizes[a] + sent]++; });
  }
  return seen;
}"""


def p_values(page: Any, claimed: Mechanism, drawn: Mechanism) -> list[float]:
    """Of a chi-square test for every column and every true value in it."""
    names = list(claimed.sizes)
    seen = page.evaluate(COUNT, [drawn.to_json(), names, BROWSER_DRAWS, list(KEY)])
    found = []
    for name, counts in zip(names, seen, strict=True):
        size = claimed.sizes[name]
        if isinstance(claimed, RecordRetention):
            rho = float(claimed.retention)
            law = rho * np.eye(size) + (1 - rho) / size
        else:
            assert isinstance(claimed, Product)
            law = claimed.channels[name].weights / ONE
        for row, chances in zip(np.array(counts).reshape(size, size), law, strict=True):
            assert row.sum() > BROWSER_DRAWS // size - 2
            found.append(float(stats.chisquare(row, chances * row.sum(), sum_check=False).pvalue))
    return found


@pytest.mark.parametrize("kind", ["retention", "dense", "record", "redrawn"])
def test_a_million_draws_follow_the_law_and_a_wrong_one_is_caught(workbench: Any, kind: str) -> None:
    claimed = mechanism(kind, 0.3)
    assert min(p_values(workbench, claimed, claimed)) > ACCEPT
    for shift in (-SHIFT, SHIFT):
        assert min(p_values(workbench, claimed, mechanism(kind, 0.3 + shift))) < REJECT


def test_the_browser_follows_the_vectors(workbench: Any) -> None:
    wrong = workbench.evaluate("""async () => {
      const { randomiserOf } = await import("/randomise.js");
      const stored = await (await fetch("/vectors.json")).json();
      return stored.cases.filter((one) => {
        const { law, columns } = stored.laws[one.law];
        const words = one.words.map(BigInt);
        const drawn = randomiserOf(law, columns, () => words.shift()).randomise(one.codes);
        return JSON.stringify(drawn) !== JSON.stringify(one.published);
      }).length;
    }""")
    assert wrong == 0
    assert len(json.loads(FILE.read_text())["cases"]) > 500


def test_words_come_from_the_system_each_once(workbench: Any) -> None:
    told = workbench.evaluate("""async () => {
      const { systemWords } = await import("/randomise.js");
      const given = [];
      const real = crypto.getRandomValues.bind(crypto);
      crypto.getRandomValues = (array) => { real(array); given.push(...array); return array; };
      const words = systemWords();
      const taken = Array.from({ length: 300 }, () => words());
      crypto.getRandomValues = real;
      return { same: taken.every((word, i) => word === given[i]), distinct: new Set(taken).size,
        calls: given.length, largest: taken.some((word) => word >= 2n ** 63n) };
    }""")
    assert told == {"same": True, "distinct": 300, "calls": 384, "largest": True}
