"""ravine inside other libraries: functions that read and write their objects."""

from ravine.integrations import anndata, bertopic

__all__ = ["anndata", "bertopic"]
