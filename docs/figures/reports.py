"""The pictures of reports in the documentation, taken with Chromium from reports that the command writes.

Run `python docs/figures/reports.py`. It writes to `docs/images`. Set CHROMIUM if Chromium is not on the path.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_iris, load_wine

IMAGES = Path(__file__).parents[1] / "images"

COMMAND = "from ravine.cli import main; main()"

WIDTH = 1200


def ravine(*args, folder):
    """Run the command in a folder."""
    subprocess.run([sys.executable, "-c", COMMAND, *args, "--quiet"], cwd=folder, check=True)


def write_reports(folder):
    """Write the demo and the reports on two small tables."""
    ravine("demo", folder=folder)
    for name, table, label, options in (
        ("iris", load_iris(as_frame=True), "species", ()),
        ("wine", load_wine(as_frame=True), "cultivar", ("--method", "mdh")),
        ("norms", load_wine(as_frame=True), "cultivar", ("--method", "norms")),
        ("svc", load_iris(as_frame=True), "species", ("--method", "svc", "--no-scale")),
    ):
        table.data.assign(**{label: table.target_names[table.target]}).to_csv(folder / f"{name}.csv", index=False)
        ravine("cluster", f"{name}.csv", "--label", label, *options, "--report", f"{name}.html", folder=folder)


def picture(browser, page, first, height, file):
    """Write a picture of a page, from the heading `first` on (None: from the top)."""
    tab = browser.new_page(viewport={"width": WIDTH, "height": 900}, reduced_motion="reduce", color_scheme="light")
    tab.goto(page.as_uri())
    tab.wait_for_timeout(1000)
    top = 0 if first is None else tab.get_by_role("heading", name=first).bounding_box()["y"] - 20
    clip = {"x": 0, "y": top, "width": WIDTH, "height": height}
    image = Image.open(BytesIO(tab.screenshot(clip=clip, full_page=True)))
    image.convert("RGB").quantize(128).save(IMAGES / file, optimize=True)
    tab.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        write_reports(folder)
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        picture(browser, folder / "demo" / "report.html", None, 1174, "report.png")
        picture(browser, folder / "iris.html", "How the rows were split", 1066, "iris-report.png")
        picture(browser, folder / "wine.html", "How the rows were split", 1186, "wine-report.png")
        picture(browser, folder / "norms.html", "How the rows meet", 990, "norms-report.png")
        picture(browser, folder / "svc.html", "The boundary", 1240, "svc-report.png")
        browser.close()
