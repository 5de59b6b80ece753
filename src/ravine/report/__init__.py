"""HTML reports of fitted models.

A report is one HTML file that works without a network connection. Its counts cover all given rows; its charts show a
random sample of them. The same model and rows always give the same file, byte for byte.
"""

from typing import TYPE_CHECKING

from ravine._lazy import lazy_names

if TYPE_CHECKING:
    from ravine.report._compare import Compared, write_comparison
    from ravine.report._data import ReportAccumulator, ReportData
    from ravine.report._stream import stream_html, write_stream
    from ravine.report._summary import describe_clusters
    from ravine.report._write import html, write

__all__ = [
    "Compared",
    "ReportAccumulator",
    "ReportData",
    "describe_clusters",
    "html",
    "stream_html",
    "write",
    "write_comparison",
    "write_stream",
]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("Compared", "write_comparison"), "_compare"),
        **dict.fromkeys(("ReportAccumulator", "ReportData"), "_data"),
        **dict.fromkeys(("stream_html", "write_stream"), "_stream"),
        "describe_clusters": "_summary",
        **dict.fromkeys(("html", "write"), "_write"),
    },
)
