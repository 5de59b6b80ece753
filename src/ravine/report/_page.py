"""Render the summary as a page: one HTML file that contains its styles, scripts and data.

Jinja fills the templates and escapes all text. The data are JSON that cannot contain markup, and the scripts insert
them as text only. A content security policy prevents the page from fetching anything.
"""

import json
import re
from functools import cache
from importlib import resources
from typing import Any

ASSETS = resources.files("ravine.report") / "assets"
VENDOR = resources.files("ravine.report") / "vendor"

SHARED = ("base.js", "charts.js", "frame.js")
SCRIPTS = (
    *(*SHARED, "tree.js", "names.js", "trust.js", "stability.js", "soft.js", "map.js", "panel.js", "clusters.js"),
    *("heatmap.js", "profile.js", "rules.js", "rows.js", "choice.js", "classes.js", "path.js", "boundary.js"),
    "page.js",
)
STREAM_SCRIPTS = (*SHARED, "timeline.js", "events.js", "present.js", "stream.js")
"""Scripts of all pages, of the page of a model, and of the page of a stream, in the order in which they depend on each
other."""

ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def render(summary: dict[str, Any], template: str = "template.html", scripts: tuple[str, ...] = SCRIPTS) -> str:
    """Return the page that shows a summary."""
    return filled(
        template,
        title=summary["title"],
        vendor=markup("\n".join(read_text(VENDOR, name) for name in ("d3.min.js", "plot.umd.min.js"))),
        licenses="\n\n".join(_license(name) for name in ("d3", "plot")),
        data=markup(to_json(summary)),
        script=markup("\n".join(read_text(ASSETS, name) for name in scripts)),
    )


def filled(template: str, **parts: Any) -> str:
    """Return a template with its parts and the style of all pages. Text is escaped; only `markup` is not."""
    return _environment().get_template(template).render(style=markup(read_text(ASSETS, "page.css")), **parts)


def markup(text: str) -> Any:
    """Mark a text as safe to be part of a page as it is: a script or a style of the package, or escaped already."""
    from markupsafe import Markup

    return Markup(text)


@cache
def _environment() -> Any:
    """Return the engine that fills the templates. It is imported when the first page is written."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(lambda name: read_text(ASSETS, name)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def to_json(summary: dict[str, Any]) -> str:
    """Return JSON that is safe inside a script element: ASCII, without characters that could end the element."""
    text = json.dumps(summary, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&]", lambda found: ESCAPES[found[0]], text)


def read_text(folder: Any, name: str) -> str:
    """Read a text file of the package."""
    return str((folder / name).read_text(encoding="utf-8")).strip()


def _license(name: str) -> str:
    called = {"d3": "D3", "plot": "Observable Plot"}[name]
    return f"{called}\n{read_text(VENDOR, f'{name}.LICENSE')}"
