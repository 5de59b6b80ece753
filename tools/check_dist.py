"""Build the package and look whether it works for somebody else.

    python tools/check_dist.py

Builds the source archive and the wheel into dist/, installs the wheel with the extra `cli` into an empty environment
and runs `ravine demo` there. The source archive must hold every file under version control but those that only the
repository needs, and its tests must be found from the archive alone.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

NOT_PACKED = re.compile(r"\.github/|\.pre-commit-config\.yaml$")
"""Files that only the repository needs."""


def run(*command: object, **options: object) -> str:
    """Run a command; what it prints, which is shown where it fails."""
    done = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed: {' '.join(command)}")
    return done.stdout


def build(folder: Path) -> tuple[Path, Path]:
    """The source archive and the wheel, which is built from the archive."""
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (archive,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return archive, wheel


def check_archive(archive: Path, folder: Path) -> None:
    """Nothing is missing, and pytest finds the tests in it."""
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    tracked = run("git", "ls-files", cwd=ROOT).splitlines()
    missing = [name for name in tracked if not NOT_PACKED.match(name) and not (top / name).exists()]
    if missing:
        sys.exit(f"{archive.name} lacks {', '.join(missing)}: see [tool.hatch.build.targets.sdist] in pyproject.toml")
    alone = {**os.environ, "PYTHONPATH": str(top / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    found = run(sys.executable, "-m", "pytest", "--collect-only", "-q", "tests", cwd=top, env=alone)
    print(f"{archive.name}: {len(tracked)} files under version control, {found.splitlines()[-1]}")


def check_wheel(wheel: Path, folder: Path) -> None:
    """Nothing but the package is in it, and the command works in an empty environment."""
    with zipfile.ZipFile(wheel) as file:
        strangers = [name for name in file.namelist() if not re.match(r"ravine(-[^/]+\.dist-info)?/", name)]
    if strangers:
        sys.exit(f"{wheel.name} has files that are not of the package: {', '.join(strangers)}")
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    pip = (programs / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(*pip, "--constraint", ROOT / "constraints.txt", f"ravine[cli] @ {wheel.as_uri()}")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    print(run(programs / "ravine", "demo", cwd=folder, env=environment))
    if not list(folder.rglob("report.html")):
        sys.exit("ravine demo wrote no report.html")
    print(f"{wheel.name}: ravine demo works in an empty environment")


def main() -> None:
    """Build and check."""
    archive, wheel = build(ROOT / "dist")
    with tempfile.TemporaryDirectory() as folder:
        check_archive(archive, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        check_wheel(wheel, Path(folder))


if __name__ == "__main__":
    main()
