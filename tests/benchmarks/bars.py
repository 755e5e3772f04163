"""Draw bars with words as an SVG."""

from collections.abc import Iterable
from html import escape
from typing import Final

COLOURS: Final = (
    "#9aa5b1",
    "#616e7c",
    "#2f7d5b",
    "#c3cad2",
    "#58b68b",
    "#b4540a",
    "#e8a15c",
    "#3d5a99",
    "#8aa2d8",
)


def picture(body: Iterable[str], *, title: str, subtitle: str, width: float, height: float) -> str:
    """The whole SVG. The heading takes the upper 60 pixels."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
            ' font-family="sans-serif">',
            '<rect width="100%" height="100%" fill="white"/>',
            text(20, 30, title, size=17, weight="bold"),
            text(20, 50, subtitle, size=12),
            *body,
            "</svg>\n",
        ]
    )


def bar(x: float, y: float, *, length: float, thickness: float, colour: str) -> str:
    """A bar to the right of a point."""
    return f'<rect x="{x:.0f}" y="{y:.0f}" width="{length:.1f}" height="{thickness:.0f}" fill="{colour}"/>'


def text(x: float, y: float, words: str, *, size: int, weight: str = "normal", anchor: str = "start") -> str:
    """Words whose base line is at y."""
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )
