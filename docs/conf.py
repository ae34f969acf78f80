"""How the site is made of these pages: `sphinx-build -W docs build/site`. The pages read as well where they lie."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import isclass, isfunction, ismodule
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.shell import BashSessionLexer
from sphinx.util.logging import getLogger

import giveortake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

project = "giveortake"
version = release = giveortake.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_static"]
nitpicky = False  # types in signatures name what is not public

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["toc.not_included"]  # the decisions, which are linked from one page
toc_object_entries = False

html_theme = "furo"
html_title = f"giveortake {version}"
html_static_path = ["_static"]
html_css_files = ["giveortake.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = html_show_sourcelink = False
html_show_sphinx = html_show_copyright = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b6e5f",
        "color-brand-content": "#0b6e5f",
        "color-api-name": "#0b6e5f",
    },
    "dark_css_variables": {
        "color-brand-primary": "#4fc3ab",
        "color-brand-content": "#4fc3ab",
        "color-api-name": "#4fc3ab",
    },
}
pygments_style, pygments_dark_style = "default", "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

default_role = "code"  # docstrings write `names` as Markdown does
autodoc_typehints = "none"  # signatures say what is taken; types are in the source, and py.typed
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    "inherited-members": "tuple, BaseException, object, MutableMapping, Mapping",  # whose methods are known
}
autosummary_generate = False

_DECISIONS = Path(__file__).parent / "adr"  # linked and not in the tree: every page shows the tree, and there are many
_LOG = getLogger(__name__)
_CODE = re.compile(r"(``.+?``|`[^`]+`)")
_MARKUP = re.compile(r"([*|\\]|(?<=\w)_(?=\W|$))")


def setup(app: Sphinx) -> None:
    """Docstrings are plain text with `names`; what only looks like markup is none."""
    app.connect("autodoc-process-docstring", _plain, priority=100)  # before its sections are read
    app.connect("source-read", _read)
    app.connect("include-read", lambda _app, _path, _page, source: _inside(source))
    app.add_lexer("sh-session", BashSessionLexer)


def _read(_app: object, page: str, source: list[str]) -> None:
    _inside(source)
    if page == "index":
        listed = set(re.findall(r"^[\w-]+$", source[0], re.MULTILINE)) | {page}
        more = sorted({file.stem for file in Path(__file__).parent.glob("*.md")} - listed)
        source[0] += (
            "\n```{toctree}\n:hidden:\n:titlesonly:\n:caption: More\n\n" + "\n".join(more) + "\n```\n" if more else ""
        )
    elif page == "api/index":
        source[0] = source[0].replace("<!-- packages -->", "\n".join(_packages())) + "\n".join(_everyday_names())
    elif page == "http":
        source[0] = source[0].replace("<!-- routes -->", "\n".join(_routes()))
        source[0] = source[0].replace("<!-- causes -->", "\n".join(_causes()))
    elif page == "adr/index":
        source[0] += "\n".join(f"- [{_title(file)}]({file.name})" for file in sorted(_DECISIONS.glob("0*.md")))
    elif page.startswith("api/"):
        source[0] = source[0].replace("```{eval-rst}", f"{_names(page, source[0])}\n\n```{{eval-rst}}", 1)


def _title(file: Path) -> str:
    return file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _names(page: str, text: str) -> str:
    """Links to every public name of a room; one that says nothing about itself, nor the page about it, is a warning."""
    room = import_module(f"giveortake.{page.removeprefix('api/')}")
    found = []
    for name in sorted(room.__all__, key=str.lower):
        full = f"{room.__name__}.{name}"
        value = getattr(room, name)
        documented = (isclass(value) or isfunction(value) or ismodule(value)) and value.__doc__
        if not documented and f"py:data:: {full}" not in text:
            _LOG.warning("%s is public and says nothing about itself", full, location=page)
        if not ismodule(value):
            found.append(f"{{py:obj}}`~{full}`")
    return " · ".join(found)


def _packages() -> Iterator[str]:
    """Every package with a page of its own, with the first line of what it says about itself."""
    for page in sorted((Path(__file__).parent / "api").glob("*.md")):
        if page.stem != "index":
            first = (import_module(f"giveortake.{page.stem}").__doc__ or "").partition("\n")[0]
            yield f"| [`{page.stem}`]({page.name}) | {first} |"


def _routes() -> Iterator[str]:
    """The routes for programs, as the service itself has them."""
    yield from ("| method | path | for | what |", "|---|---|---|---|")
    for route in import_module("giveortake.server.application").ROUTES:
        if not route.page:
            yield f"| {route.method} | `{route.path}` | {route.role} | {route.summary} |"


def _causes() -> Iterator[str]:
    """The causes of refusals, with their statuses and the exceptions of `gt.connect`."""
    yield from ("| cause | status | in Python |", "|---|---|---|")
    for cause in import_module("giveortake.wire.errors").CAUSES:
        yield f"| `{cause.name}` | {cause.status} | [`{cause.error.__name__}`](errors.md) |"


def _everyday_names() -> Iterator[str]:
    """What is called by the short name of the package, with the first line of what it says about itself."""
    for name in giveortake.__all__:
        value = getattr(giveortake, name)
        if isclass(value) or isfunction(value):
            room = value.__module__.split(".")[1]
            first = (value.__doc__ or "").partition("\n")[0].replace("|", r"\|")
            yield f"| {{py:obj}}`gt.{name} <giveortake.{room}.{name}>` | {first} |"


def _inside(source: list[str]) -> None:
    """Pages of the repository's root are pages of the site too, and a folder of pages has one of its own."""
    text = re.sub(r"\]\((?:\.\./)?([A-Z]+)\.md", lambda found: f"](/{found[1].lower()}.md", source[0])
    source[0] = text.replace("](/readme.md", "](/index.md").replace("adr/)", "adr/index.md)")


def _plain(_app: object, _what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    inside = False  # an example, which ends with an empty line
    for number, line in enumerate(lines):
        inside = (inside or line.lstrip().startswith(">>>")) and bool(line.strip())
        if not inside:
            lines[number] = "".join(
                part if part.startswith("`") else _MARKUP.sub(r"\\\1", part) for part in _CODE.split(line)
            )
