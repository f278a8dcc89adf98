"""The order and the figures of the gallery's scripts in sphinx-gallery."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dualgap.experiments.gallery import FIGURES, write


class CourseOrder:
    """Sort key for scripts: the order of the course."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> int:
        """Return the index of a script."""
        return list(FIGURES).index(Path(filename).stem)


def scrape(_block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Draw the figure of a script, and return the text that shows it on the page."""
    from sphinx_gallery.scrapers import figure_rst  # noqa: PLC0415

    image = Path(next(block_vars["image_path_iterator"]))
    script = SimpleNamespace(**block_vars["example_globals"])
    for path in write(script, script.compute(), image.stem, image.parent):
        if path.suffix == ".svg":
            path.unlink()
    return figure_rst([image], gallery_conf["src_dir"])
