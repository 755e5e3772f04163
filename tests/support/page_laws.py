"""The laws of every page of the console, and checks for them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Request, Response, ViewportSize

from tests.support import axe

Theme = Literal["light", "dark"]
Look = tuple[int, Theme]
"""The width of the window, and the theme."""
WIDTHS: Final = (1440, 360)
NARROWEST: Final = 320
_OUTERMOST: Final = (NARROWEST, max(WIDTHS))
"""The outermost widths, which cover 360 px too: the style sheet has no other rules at 360 px than at the narrowest."""
THEMES: Final[Sequence[Theme]] = ("light", "dark")
LOOKS: Final[Sequence[Look]] = ((1440, "light"), (360, "dark"), (1440, "dark"), (360, "light"))
MAX_BYTES: Final = 1 << 20
_HEIGHT: Final = 900
_PLANTED: Final = "#planted, x-planted, [hx-get], [onclick], [onerror], [onload], [style], iframe, object, embed, base"
"""Marks that only data can bring into a page: our own templates have none of them."""
_WIDER: Final = """() => {
    const root = document.documentElement
    if (root.scrollWidth <= root.clientWidth) return []
    const wide = [...document.body.querySelectorAll("*")].filter((each) => {
        const box = each.getBoundingClientRect()
        return box.width > 0 && (box.right > root.clientWidth + 1 || box.left < -1)
    })
    const names = wide.slice(0, 5).map((each) => `${each.tagName}.${each.className} ${each.textContent.slice(0, 40)}`)
    return [`${root.scrollWidth} of ${root.clientWidth} px: ${names.join("; ")}`]
}"""
_STRUCTURE: Final = """(planted) => {
    const all = (selector) => [...document.querySelectorAll(selector)]
    const followed = all("[href], [src], [action], [formaction]")
        .flatMap((each) => [each.href, each.src, each.action, each.formAction])
        .filter((address) => typeof address === "string" && address && !/^https?:/.test(address))
    const unnamed = all("th").filter((each) => !each.textContent.trim())
    const ids = all("[id]").map((each) => each.id)
    const twice = ids.filter((id, at) => ids.indexOf(id) !== at)
    const named = ["for", "aria-labelledby", "aria-describedby", "aria-controls"].flatMap((name) =>
        all(`[${name}]`).flatMap((each) => each.getAttribute(name).split(/\\s+/)))
    const leaky = all("bdi").filter((each) => {
        let depth = 0
        for (const sign of each.textContent) {
            if ("\u2066\u2067\u2068".includes(sign)) depth += 1
            else if ("\u2029\x85\x1c\x1d\x1e".includes(sign) || sign === "\u2069" && --depth < 0) return true
        }
        return depth
    })
    const headings = all("h1").length
    return [
        ...all(planted).map((each) => `planted: ${each.outerHTML.slice(0, 200)}`),
        ...followed.map((address) => `an address that no browser should follow: ${address.slice(0, 80)}`),
        ...unnamed.map(() => "a column without a name"),
        ...[...new Set(twice)].map((id) => `the id ${id} is there twice`),
        ...named.filter((id) => !ids.includes(id)).map((id) => `no element has the id ${id}`),
        ...leaky.map((each) => `a text that turns around what follows: ${each.textContent.slice(0, 80)}`),
        ...(headings === 1 ? [] : [`${headings} headings of the page`]),
    ]
}"""

_KIND: Final = """
    const told = ["type", "role", "tabindex", "scope", "aria-hidden", "aria-expanded", "aria-current"]
    const attribute = ({name, value}) => told.includes(name) ? `${name}=${value}` : value.trim() ? name : `${name}=`
    const kind = (each) => [each.tagName, each.getAttribute("class") ?? "", each.textContent.trim() ? "text" : "empty",
        ...[...each.attributes].map(attribute).sort()].join(" ")
"""
_KINDS: Final = (
    "() => {"
    + _KIND
    + """
    const kinds = new Map([...document.querySelectorAll("*")].map((each) => [each, kind(each)]))
    const children = (each) => [...new Set([...each.children].map((child) => kinds.get(child)))].sort().join(", ")
    const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((each) => each.tagName)
    return [...new Set([
        ...[...kinds].map(([each, name]) => `${kinds.get(each.parentElement) ?? ""} > ${name} > ${children(each)}`),
        ...headings.map((name, at) => `${headings[at - 1] ?? ""} before ${name}`),
    ])]
}"""
)
_THIN_OUT: Final = (
    "() => {"
    + _KIND
    + """
    const shape = (each) => {
        const shapes = new Map([...each.children].map((child) => [child, shape(child)]))
        for (const same of Map.groupBy(shapes.keys(), (child) => shapes.get(child)).values())
            same.slice(2, -1).forEach((child) => child.remove())
        return `${kind(each)} {${[...new Set(shapes.values())].join(", ")}}`
    }
    shape(document.body)
}"""
)
"""Keeps the first, the second and the last of neighbors that differ in their texts alone, for example rows."""

_TABBING: Final = """() => {
    window.reached = new Set()
    window.unseen = new Set()
    document.addEventListener("focusin", ({target}) => {
        reached.add(target)
        const {outlineStyle, outlineWidth} = getComputedStyle(target)
        if (outlineStyle === "none" || outlineWidth === "0px") unseen.add(target)
    })
    const controls = [...document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex='0']")]
    window.present = new Set(controls)  // a live page gets others meanwhile, perhaps behind the focus
    return controls.filter((each) => each.checkVisibility({visibilityProperty: true}) && each.type !== "hidden").length
}"""
_REACHED: Final = """() => {
    const controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
    const name = (each) => `${each.tagName} ${each.name ?? ""} ${each.textContent.trim().slice(0, 40)}`
    const missed = controls.filter((each) => each.checkVisibility({visibilityProperty: true}) && !each.disabled
        && each.type !== "hidden" && each.type !== "radio" && each.tabIndex >= 0 && present.has(each)
        && !reached.has(each))
    return [...missed.map((each) => `no key leads to ${name(each)}`),
            ...[...unseen].map((each) => `focus cannot be seen on ${name(each)}`)]
}"""
_MAX_TABS: Final = 300


@dataclass
class Watch:
    """Notes forbidden acts of pages in a browser context: requests elsewhere, dialogs, and messages in the console."""

    base_url: str
    found: list[str] = field(default_factory=list)
    expected_statuses: set[int] = field(default_factory=set)

    def take(self) -> list[str]:
        """The notes since the last call."""
        taken, self.found = self.found, []
        return taken

    def note_request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.base_url}/", "data:")):
            self.found.append(f"a request to {request.url}")

    def note_response(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expected_statuses:
            self.found.append(f"{response.status} for {response.request.method} {response.url}")

    def note_message(self, message: ConsoleMessage) -> None:
        is_about_a_status = message.text.startswith("Failed to load resource: the server responded with a status")
        if message.type in ("error", "warning") and not is_about_a_status:  # those are noted above
            self.found.append(f"the console says: {message.text}")

    def note_dialog(self, dialog: Dialog) -> None:
        self.found.append(f"a dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def watched(context: BrowserContext, base_url: str) -> Iterator[Watch]:
    """Enter to watch all pages of a context; leaving fails if notes remain that were not taken."""
    watch = Watch(base_url)
    context.on("request", watch.note_request)
    context.on("response", watch.note_response)
    context.on("console", watch.note_message)
    context.on("dialog", watch.note_dialog)
    context.on("weberror", lambda error: watch.found.append(f"an error: {error.error}"))
    yield watch
    left = watch.take()
    assert left == [], left


def broken_laws(page: Page, html: str) -> list[str]:
    """The laws that the page breaks, each with its place. ``html`` is the page from the server."""
    return data_laws(page, html, (NARROWEST, *WIDTHS)) + axe_laws(page, LOOKS)


def data_laws(page: Page, html: str, widths: Sequence[int]) -> list[str]:
    """The laws that the page breaks, of the laws about data."""
    found = []
    if (size := len(html.encode())) > MAX_BYTES:
        found.append(f"{size} bytes, and {MAX_BYTES} are allowed")
    found += page.evaluate(_STRUCTURE, _PLANTED)
    for width in sorted(widths, key=lambda each: each != _width(page)):  # the width it has comes first
        _set_width(page, width)
        found += [f"at {width} px the page is wider: {each}" for each in page.evaluate(_WIDER)]
    return found


def axe_laws(page: Page, looks: Sequence[Look]) -> list[str]:
    """The rules of axe-core that the page breaks: all in the first theme of a width, only colors in the other."""
    found = []
    for width in sorted(WIDTHS, key=lambda each: each != _width(page)):
        _set_width(page, width)
        themes = [theme for wanted, theme in looks if wanted == width]
        for theme in themes:
            page.emulate_media(color_scheme=theme)
            violations = axe.violations(page, of_colors=theme != themes[0])  # all that another theme changes
            found += [f"at {width} px, {theme}: {each}" for each in violations]
    return found


def _width(page: Page) -> int:
    return page.viewport_size["width"] if page.viewport_size else 0


def _set_width(page: Page, width: int) -> None:
    if _width(page) != width:  # another layout of a page takes as long as the search for wide elements
        page.set_viewport_size(ViewportSize(width=width, height=_HEIGHT))


@dataclass
class Inspection:
    """Checks of many pages: the laws about data on each page, the laws about templates once.

    axe-core and the keyboard check the first page of each path, and every page with an element that is new by its tag,
    classes, attributes, parent and children. Of elements that repeat within a page, for example rows, they see three.
    """

    paths: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    def broken_laws(self, page: Page, html: str, path: str) -> list[str]:
        """The laws that the page breaks. ``path`` is the pattern of its address."""
        kinds = set(page.evaluate(_KINDS))
        is_first, is_new = path not in self.paths, not kinds <= self.kinds
        self.paths.add(path)
        self.kinds |= kinds
        if not is_first and not is_new:
            return data_laws(page, html, _OUTERMOST)
        found = data_laws(page, html, (WIDTHS[0], NARROWEST, WIDTHS[-1]))
        _set_width(page, WIDTHS[-1])
        page.evaluate(_THIN_OUT)
        return found + keyboard_laws(page) + axe_laws(page, LOOKS if is_first else LOOKS[:2])


def keyboard_laws(page: Page) -> list[str]:
    """The controls of the page's present state that the key Tab does not reach, or that show no focus."""
    controls: int = page.evaluate(_TABBING)
    found: list[str] = []
    for _ in range(2):  # again if a live page has put others before them meanwhile
        for _ in range(min(controls + 20, _MAX_TABS)):  # once around, by what scrolls and the parts of times
            page.keyboard.down("Tab")  # held down, which goes on as it does by a press each, for half of the time
        page.keyboard.up("Tab")
        found = page.evaluate(_REACHED)
        if not found:
            break
    return found
