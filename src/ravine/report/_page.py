"""Render the summary as a page: one HTML file that contains its styles, scripts and data.

The data are JSON that cannot contain markup, and the scripts insert them as text only. A content security policy
prevents the page from fetching anything.
"""

import html
import json
import re
from importlib import resources
from typing import Any

ASSETS = resources.files("ravine.report") / "assets"
VENDOR = resources.files("ravine.report") / "vendor"

SHARED = ("base.js", "charts.js", "frame.js")
SCRIPTS = (
    *(*SHARED, "tree.js", "names.js", "trust.js", "soft.js", "map.js", "panel.js", "clusters.js", "heatmap.js"),
    *("profile.js", "rules.js", "rows.js", "choice.js", "classes.js", "path.js", "boundary.js", "page.js"),
)
STREAM_SCRIPTS = (*SHARED, "timeline.js", "events.js", "present.js", "stream.js")
"""Scripts of all pages, of the page of a model, and of the page of a stream, in the order in which they depend on each
other."""

ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def render(summary: dict[str, Any], template: str = "template.html", scripts: tuple[str, ...] = SCRIPTS) -> str:
    """Return the page that shows a summary."""
    parts = {
        "title": html.escape(summary["title"]),
        "style": read_text(ASSETS, "page.css"),
        "vendor": "\n".join(read_text(VENDOR, name) for name in ("d3.min.js", "plot.umd.min.js")),
        "licenses": "\n\n".join(_license(name) for name in ("d3", "plot")),
        "data": to_json(summary),
        "script": "\n".join(read_text(ASSETS, name) for name in scripts),
    }
    # One pass over the template: inserted text is not searched for placeholders.
    return re.sub(r"\{\{ (\w+) \}\}", lambda place: parts[place[1]], read_text(ASSETS, template))


def to_json(summary: dict[str, Any]) -> str:
    """Return JSON that is safe inside a script element: ASCII, without characters that could end the element."""
    text = json.dumps(summary, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&]", lambda found: ESCAPES[found[0]], text)


def read_text(folder: Any, name: str) -> str:
    """Read a text file of the package."""
    return str((folder / name).read_text(encoding="utf-8")).strip()


def _license(name: str) -> str:
    called = {"d3": "D3", "plot": "Observable Plot"}[name]
    return html.escape(f"{called}\n{read_text(VENDOR, f'{name}.LICENSE')}")
