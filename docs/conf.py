"""How `make docs` builds the site. Neither building nor reading it needs a network."""

import re
import sys
from importlib.metadata import distribution
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

from decoupling import __version__  # noqa: E402

project = "decoupling"
author = "The decoupling developers"
project_copyright = author
version = release = __version__

templates_path = ["_templates"]
extensions = [
    "commands",
    "pictures",
    "repository",
    "transition_pictures",
    "wide_figures",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["**/GALLERY_HEADER.rst", "gallery/**/*.ipynb", "gallery/**/*.py"]

# Pages are Markdown.
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# Mathematics is set in the browser by MathJax, one file that the site carries; glyphs are drawn, so
# that no font has to be fetched either.
MATHJAX = "tex-svg-full.js"
mathjax_path = MATHJAX
mathjax_options = {"defer": "defer"}

# The reference is made of docstrings. Names in single backticks are links where there is a page.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:obj", ".*")]
autosummary_generate = True
autodoc_typehints = "none"  # docstrings say what is expected, in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
toc_object_entries_show_parents = "hide"  # there is room for a method, not for its class

# Stories of examples/ are run, and shown with what they print and draw.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "stories.place",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!.*plot_)",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("decoupling",),
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "remove_config_comments": True,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "decoupling"
html_static_path = [
    "_static",
    str(
        distribution("sphinx-mathjax-offline").locate_file(
            f"sphinx-mathjax-offline/static/mathjax/{MATHJAX}"
        )
    ),
]
html_extra_path = ["generated/site"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
# Pages that stand alone have nothing to navigate beside them.
html_sidebars = {name: [] for name in ("index", "problems", "limits", "contributing", "changelog")}
html_theme_options = {
    "logo": {"text": "decoupling"},
    "header_links_before_dropdown": 5,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def without_private(app, what, name, obj, options, signature, annotation):
    """Signatures of records as far as they are anybody's business."""
    if what != "class" or not signature:
        return None
    return re.sub(r"(, |(?<=\())_\w+(=[^,()]*(\([^()]*\))?)?", "", signature), annotation


def setup(app):
    app.connect("autodoc-process-signature", without_private)
