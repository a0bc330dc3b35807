"""The one-file HTML report of a release. It shows what it is given and computes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem;border-bottom:1px solid #bbb}
table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ddd;padding:.3rem .6rem;text-align:left;
vertical-align:top}th{font-weight:600}.n{text-align:right;font-variant-numeric:tabular-nums}
.warn{border-left:4px solid #b35900;padding:.2rem .8rem;background:#fff6ec}
@media print{body{margin:0;max-width:none}}
"""


def report_page(certificate: Mapping[str, Any], marginals: Mapping[str, Sequence[int]]) -> str:
    """A page of what was promised, under which assumptions, and what the published columns look like."""
    parts = [
        f"<h1>Release of {certificate['records']:,} records</h1>",
        f"<p>Method: {escape(certificate['method'])}. Made with Pramana {escape(certificate['pramana'])}.</p>",
        *(f'<p class="warn">{escape(w)}</p>' for w in certificate["warnings"]),
        "<h2>What is promised</h2>",
        *(_guarantee(g) for g in certificate["guarantees"]),
        "<h2>Columns</h2>",
        _columns(certificate),
        "<h2>Published counts</h2>",
        "<p>Counts of the published, randomised values. They are not estimates of the true counts: use "
        "<code>pramana crosstab</code> for those.</p>",
        *(_counts(a, marginals[a["name"]]) for a in certificate["attributes"] if a["name"] in marginals),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Release report</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _guarantee(guarantee: Mapping[str, Any]) -> str:
    assumptions = "".join(f"<li>{escape(a)}</li>" for a in guarantee["assumptions"])
    return (
        f"<h3>{escape(guarantee['notion'])}</h3><p>{escape(guarantee['words'])}</p>"
        f"<p>Holds for {escape(guarantee['scope'])}; rests on {escape(guarantee['statement'])}. It assumes:</p>"
        f"<ul>{assumptions}</ul>"
    )


def _columns(certificate: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(a['name'])}</td><td>{escape(a['role'])}</td>"
        f"<td>{'released unchanged' if a['raw'] else 'randomised'}</td>"
        f'<td class="n">{_size(a["domain"])}</td></tr>'
        for a in certificate["attributes"]
    )
    return f"<table><tr><th>column</th><th>role</th><th>treatment</th><th>values</th></tr>{rows}</table>"


def _size(domain: Mapping[str, Any] | None) -> str:
    return "" if domain is None else str(len(domain["labels"]) + domain["missing"])


def _counts(attribute: Mapping[str, Any], counts: Sequence[int]) -> str:
    labels = [*attribute["domain"]["labels"], "(missing)"]
    rows = "".join(
        f'<tr><td>{escape(label)}</td><td class="n">{count:,}</td></tr>'
        for label, count in zip(labels, counts, strict=False)
    )
    return f"<h3>{escape(attribute['name'])}</h3><table><tr><th>value</th><th>published</th></tr>{rows}</table>"
