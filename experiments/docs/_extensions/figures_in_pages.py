"""The gallery's scripts in sphinx-gallery: their order, and the figures that they write."""

from pathlib import Path
from typing import Any

from experiments.gallery import FIGURES, FOLDER


class CourseOrder:
    """Sorts scripts in the order of a course."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> int:
        """Return a script's place."""
        return list(FIGURES).index(Path(filename).stem)


def scrape(_block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the page's text for the figures that a script has just written."""
    from sphinx_gallery.scrapers import figure_rst  # noqa: PLC0415

    written = sorted(FOLDER.glob("*.png"))
    images = [next(block_vars["image_path_iterator"]) for _ in written]
    for png, image in zip(written, images, strict=True):
        png.replace(image)
    return figure_rst(images, gallery_conf["src_dir"])
