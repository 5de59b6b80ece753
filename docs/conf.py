"""Settings of the documentation: `make docs` builds it without a network, and every warning is an error."""

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from numpydoc.docscrape_sphinx import SphinxDocString

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]
os.environ.setdefault("SCIPY_ARRAY_API", "1")

project = "ravine"
author = "the ravine developers"
copyright = author
version = release = installed_version("ravine")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
    "matplotlib.sphinxext.figmpl_directive",
    "mathml",
]
exclude_patterns = ["_build", "_ext", "_templates", "check", "figures", "gallery/*.ipynb", "gallery/*.py"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
nitpicky = True
default_role = "code"
toc_object_entries_show_parents = "hide"
nitpick_ignore_regex = [(r"py:.*", r"(numpy|scipy|sklearn|pandas|pyarrow|matplotlib|dask|river)\..*")]

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist", "attrs_block"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "ravine"
html_static_path = ["_static"]
html_css_files = ["ravine.css"]
html_show_sourcelink = False
html_sidebars = {page: [] for page in ("index", "start", "which-method")}
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

autosummary_generate = True
autodoc_typehints = "none"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
# A matter of taste: a summary beside its quotes (GL01), or one that begins with a plural (SS05); no more than a summary
# (ES01); a name for what is returned (RT02); no "See Also" (SA01). Of examples (EX01) the tests ask, where they help.
numpydoc_validation_checks = {"all", "GL01", "SS05", "ES01", "RT02", "SA01", "EX01"}
# A class says all of its attributes. For a property numpydoc would put that one's first sentence, and a link, instead.
_describe = SphinxDocString._process_param
SphinxDocString._process_param = lambda doc, name, text, _: _describe(doc, name, text, False)

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 100)]
plot_srcset = ["2x"]
plot_basedir = str(HERE / "figures")
plot_rcparams = {"savefig.bbox": "tight", "font.size": 10, "axes.titlesize": 10}
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "plot_gallery": True,
    "abort_on_example_error": True,
    "doc_module": ("ravine",),
    "backreferences_dir": None,
    "image_srcset": ["2x"],
    "matplotlib_animations": False,
}
