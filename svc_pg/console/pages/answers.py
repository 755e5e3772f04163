"""The answers of a page: a template with its values, another address, or a file."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Html:
    """A template of ``templates/``, without its suffix, and the values that it shows."""

    template: str
    values: Mapping[str, object] = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeeOther:
    """The address of the page to look at next, as a form is answered. ``cookies`` are Set-Cookie headers."""

    address: str
    cookies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """A file to save, sent as it is made."""

    content: AsyncIterator[bytes]
    headers: Mapping[str, str]


Answer = Html | SeeOther | File


def saved(text: str, name: str, media_type: str) -> File:
    """A text as a file with this name."""

    async def content() -> AsyncIterator[bytes]:
        yield text.encode()

    headers = {"Content-Type": media_type, "Content-Disposition": f'attachment; filename="{name}"'}
    return File(content(), headers)
