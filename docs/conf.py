"""The site: ``sphinx-build -W --keep-going docs site``. Pages are Markdown, references come from the program."""

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import django
from django.conf import settings
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

import svc_pg

project = "svc-pg"
release = svc_pg.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["images"]
highlight_language = "none"
myst_heading_anchors = 4

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True

html_theme = "furo"  # its fonts, styles and scripts are files of the site
html_static_path = ["static"]
html_css_files = ["site.css"]
html_title = f"svc-pg {release}"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False


def setup(app: Sphinx) -> None:
    """Fill the pages that ask for a part of the program. Django's models need its settings to be imported."""
    contrib = ("admin", "auth", "contenttypes", "messages", "sessions")
    settings.configure(INSTALLED_APPS=[*(f"django.contrib.{name}" for name in contrib), "svc_pg.integrations.django"])
    django.setup()
    sys.path[:0] = [str(app.confdir), str(app.confdir.parent)]
    from generated import fill
    from row_fields import add_fields, without_docs

    def fill_page(_app: Sphinx, _page: str, source: list[str]) -> None:
        source[0] = fill(source[0]).replace("<!-- copy of the demo -->", link_to_copy(app.config.html_extra_path))

    app.connect("source-read", fill_page)
    app.connect("autodoc-before-process-signature", without_docs)
    app.connect("autodoc-process-docstring", add_fields)
    app.connect("doctree-read", add_search_terms)


def link_to_copy(folders: Sequence[str]) -> str:
    """The link to the demo as files, if ``-D html_extra_path`` names a folder that has it as ``shop``."""
    if not any(Path(__file__).parent.joinpath(folder, "shop", "index.html").is_file() for folder in folders):
        return ""
    return '<p><strong><a href="shop/index.html">Click through a copy of the demo</a></strong>, without installing.</p>'


def add_search_terms(app: Sphinx, page: nodes.document) -> None:
    """Give a page and its headings the index entries that docs/search_terms.toml has for them."""
    terms = tomllib.loads(Path(app.confdir, "search_terms.toml").read_text(encoding="utf-8"))
    name = app.env.docname
    for section in page.findall(nodes.section):
        heading = section["ids"][0]
        words = terms.get(name if section.parent is page else f"{name}#{heading}", ())
        if words:
            entries = [("single", word, heading, "main", None) for word in words]
            section.insert(0, addnodes.index(entries=entries))
