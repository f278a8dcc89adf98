"""Configuration of the documentation site: `make docs`.

It is built in a copy of this folder (build/docs/source), as the gallery, the reference and the
tutorials' files are written beside the pages. Nothing is fetched: no fonts, no scripts, no inventories.
"""

import sys
from importlib import metadata
from pathlib import Path

from dualgap.experiments.gallery import FIGURES

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "dualgap"
copyright = "the dualgap contributors"
release = metadata.version("dualgap")
html_title = f"dualgap {release}"
html_theme = "furo"
html_theme_options = {"light_css_variables": {"code-font-size": "72%"}}
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "myst_parser",
    "docstrings",
    "executed",
    "result_pages",
    "solver_pages",
]
exclude_patterns = ["figures", "paper", "_extensions", "_templates", "**/_run"]
highlight_language = "none"
default_role = "literal"  # in docstrings, `X` is code

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # they are in the signature
autodoc_default_options = {"members": True, "show-inheritance": True}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "figures",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": [f"figures/{folder}" for folder in dict.fromkeys(FIGURES.values())],
    "within_subsection_order": "figures_in_pages.CourseOrder",
    "image_scrapers": ("figures_in_pages.scrape",),
    "capture_repr": (),
    "parallel": 2,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "show_signature": False,
    "thumbnail_size": (400, 300),
}
