"""Models that leave Python: as ONNX, SQL, a function without dependencies, or JSON."""

from typing import TYPE_CHECKING

from ravine._lazy import lazy_names

if TYPE_CHECKING:
    from ravine.export._json import to_json
    from ravine.export._onnx import to_onnx
    from ravine.export._python import to_python
    from ravine.export._rounding import within_rounding
    from ravine.export._sql import to_sql

__all__ = ["to_json", "to_onnx", "to_python", "to_sql", "within_rounding"]

__getattr__ = lazy_names(
    __name__,
    {
        "to_json": "_json",
        "to_onnx": "_onnx",
        "to_python": "_python",
        "to_sql": "_sql",
        "within_rounding": "_rounding",
    },
)
