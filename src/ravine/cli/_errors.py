"""Turn errors into a message of one line and an exit code."""

import errno

BAD_DATA, BAD_USAGE = 1, 2

NEEDED = ("typer", "rich", "pyarrow")

OPTIONAL = ("onnx",)
"""Packages that only some options need, and whose absence an error explains."""


def explain(error: BaseException) -> tuple[str, int]:
    """Return the message and the exit code. Errors that the user did not cause are raised again."""
    if isinstance(error, ModuleNotFoundError) and error.name in NEEDED:
        return f"error: the command line needs {', '.join(NEEDED)}: pip install 'ravine[cli]'", BAD_USAGE
    if isinstance(error, ModuleNotFoundError) and error.name in OPTIONAL:
        return f"error: {error}", BAD_USAGE
    if type(error).__module__.startswith("typer."):
        message = " ".join(getattr(error, "format_message", error.__str__)().split()).rstrip(".")
        return f"error: {message}; run ravine --help for help" if message else "", BAD_USAGE
    if isinstance(error, BrokenPipeError):
        return "", BAD_DATA
    if isinstance(error, OSError):
        return f"error: {_of_system(error)}", BAD_USAGE if isinstance(error, FileNotFoundError) else BAD_DATA
    if isinstance(error, MemoryError):
        return "error: out of memory: use --method imdh, which reads the rows in batches", BAD_DATA
    if isinstance(error, ValueError):
        from ravine._io import UsageError

        return f"error: {' '.join(str(error).split())}", BAD_USAGE if isinstance(error, UsageError) else BAD_DATA
    raise error


def _of_system(error: OSError) -> str:
    where = error.filename if error.filename2 is None else error.filename2
    remedy = {
        errno.ENOSPC: "the disk is full: free some space or write to another disk",
        errno.EACCES: "no permission: choose another path or change the permissions",
        errno.EROFS: "the file system is read-only: choose another path",
        errno.ENOENT: "there is no such file or folder",
        errno.EISDIR: "this is a folder: give the name of a file",
    }.get(error.errno or 0, error.strerror or str(error))
    return f"{where}: {remedy}" if where else remedy
