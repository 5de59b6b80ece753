"""ravine inside other libraries: functions that read and write their objects."""

from ravine.integrations import anndata

__all__ = ["anndata"]
