"""Walk through the console's pages along their links, skipping pages like others."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from urllib.parse import parse_qsl, unquote, urlencode, urljoin, urlsplit

from svc_pg.console.http.routing import Router
from svc_pg.console.pages.page_route import PageRoute

Look = Callable[[str], str]
"""Opens an address and returns the HTML of its page."""


@dataclass(frozen=True)
class Form:
    """A form of a page, with the values or examples of its fields."""

    page: str
    method: str
    action: str
    fields: Sequence[tuple[str, str]] = ()
    is_question: bool = False
    """True if it is a search form."""


@dataclass
class Parsed:
    """The links of a page, and its forms."""

    links: list[str] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)


@dataclass
class Walk:
    """A walk through a site, from its ``start``. It opens ``each`` pages of a path, more for new parameters.

    It sends only search forms, with ``term`` in their fields; a bar for questions with its own example.
    """

    start: str
    routes: Sequence[PageRoute]
    base_path: str
    term: str = ""
    each: int = 2
    limit: int = 120
    also: Sequence[str] = ()
    """Addresses to open after the start, even without links to them."""
    forms: list[Form] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    """The number of opened pages of each path, for example ``/entries/:id``."""
    other_links: set[str] = field(default_factory=set)
    """The unopened links, which lead to pages like others."""
    dead_links: set[str] = field(default_factory=set)
    """The links to missing pages."""

    def __post_init__(self) -> None:
        self._router: Router[str] = Router()
        self._router.add_all((route.method, route.path, route.path) for route in self.routes)
        self._parameters: defaultdict[str, set[str]] = defaultdict(set)

    def pages(self, look: Look) -> Iterator[tuple[str, str]]:
        """Open each page; yields its address and the pattern of its path."""
        waiting = deque([self.start, *self.also])
        known = {*waiting, urljoin(self.start, self.base_path)}
        while waiting:
            address = waiting.popleft()
            path = self.pattern("GET", address)
            if path is None:
                self.dead_links.add(address)
                continue
            if self.met[path] >= self.each and self._parameters[path].issuperset(parameters(address)):
                self.other_links.add(address)
                continue
            self._parameters[path].update(parameters(address))
            self.met[path] += 1
            assert self.met.total() <= self.limit, f"more than {self.limit} pages that differ: {self.met}"
            found = parse(look(address), address)
            self.forms += found.forms
            yield address, path
            asked = [self._asked(form) for form in found.forms if form.method == "GET" and form.is_question]
            new = [link for link in self._own(found.links + asked) if link not in known]
            known.update(new)
            waiting.extend(new)

    def pattern(self, method: str, address: str) -> str | None:
        """The path of an address's route: ``/entries/:id``."""
        path = urlsplit(address).path.removeprefix(self.base_path).strip("/")
        found = self._router.find(method, [unquote(segment) for segment in path.split("/")])
        return None if found is None else found.target

    def _asked(self, form: Form) -> str:
        fields = {name: value for name, value in form.fields if value}
        typed = next((name for name, _ in form.fields if name not in fields), None)
        query = urlencode(fields | ({typed: self.term} if typed and self.term else {}))
        return f"{form.action.partition('?')[0]}?{query}"

    def _own(self, links: Iterable[str]) -> Iterator[str]:
        here = urlsplit(self.start)
        for link in links:
            split = urlsplit(link)
            is_static = split.path.startswith(f"{self.base_path}/static/")
            if (split.scheme, split.netloc) == (here.scheme, here.netloc) and not is_static:
                yield link.partition("#")[0]


def parameters(address: str) -> tuple[str, ...]:
    """The names of the query's parameters."""
    return tuple(sorted({name for name, _ in parse_qsl(urlsplit(address).query)}))


def parse(html: str, address: str) -> Parsed:
    """The links and forms of a page with this address."""
    reader = _Reader(address)
    reader.feed(html)
    reader.close()
    return reader.found


class _Reader(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__()
        self.found = Parsed()
        self._address = address
        self._form: Form | None = None
        self._is_bar = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in given and "download" not in given:
            self.found.links.append(urljoin(self._address, given["href"]))
        elif tag == "form":
            action = urljoin(self._address, given.get("action") or self._address)
            self._is_bar = given.get("class") == "ask"
            self._form = Form(self._address, given.get("method", "get").upper(), action)
            self.found.forms.append(self._form)
        elif self._form is not None and tag in ("input", "button") and given.get("name"):
            has_example = self._form.method == "POST" or (self._is_bar and given["name"] == "q")
            example = given.get("placeholder", "") if has_example else ""
            fields = (*self._form.fields, (given["name"], given.get("value") or example))
            is_typed = given.get("type", "text") in ("search", "text") and tag == "input"
            self._form = replace(self._form, fields=fields, is_question=self._form.is_question or is_typed)
            self.found.forms[-1] = self._form

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
