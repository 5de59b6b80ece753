"""Files that are whole or not there: written beside their place, then moved into it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A place to write to, which takes the name `path` at the end; after an error or an interruption nothing is left.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder) / "labels.csv") as place:
    ...         _ = place.write_text("cluster")
    ...     [file.name for file in Path(folder).iterdir()]
    ['labels.csv']
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file in it")
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=".part", delete=False) as file:
        place = Path(file.name)
    try:
        place.chmod(path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        yield place
        place.replace(path)
    except BaseException:
        place.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
