"""Read HTTP/1.1 responses from bytes, within bounds, with llhttp; no I/O."""

from typing import Final

import httptools

from svc_pg.webhooks.http.response import MAX_BODY_BYTES

_MOST_OF_HEAD: Final = 64 * 1024  # bytes, those of interim responses included
_MOST_OF_ALL: Final = 256 * 1024  # bytes, chunk extensions and trailers included; 16 KiB in chunks of one byte fit
_MOST_FIELDS: Final = 128
_MOST_OF_FIELD: Final = 8190  # bytes of a name, of a value, and of a reason phrase
_MOST_INTERIM: Final = 16
_NO_BODY: Final = frozenset({101, 204, 304})


class BrokenResponse(Exception):
    """The bytes are no HTTP/1.1 response, or exceed a bound."""


class _Enough(Exception):
    """The rest of the response is not read."""


class ResponseReader:
    """The response fed so far. It depends on the bytes alone, not on their split into reads.

    ``status`` is None until the head is complete. A response is complete at its end, or when enough of its body was
    read; ``is_reusable`` tells whether its connection may carry another request. ``size`` is the number of bytes
    so far.
    """

    __slots__ = (
        *("_fields", "_interim", "_is_framed", "_parser", "_reason"),
        *("body", "fields", "is_complete", "is_reusable", "size", "status"),
    )

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        # as lenient as RFC 9112 allows: bare LF (2.2), folded headers (5.2)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self.begin()

    def begin(self) -> None:
        """Expect a response; the last one was complete and reusable."""
        self.status: int | None = None
        self.fields: list[tuple[bytes, bytes]] = []
        self.body = bytearray()  # not a list: chunks of two bytes would take twenty times as much
        self.is_complete = self.is_reusable = self._is_framed = False
        self.size = self._interim = self._reason = self._fields = 0

    def feed(self, data: bytes) -> None:
        """Read on. Raises BrokenResponse; the part read before stays."""
        self.size += len(data)
        if self.size > _MOST_OF_HEAD:
            self._feed_within_bounds(data)
        else:
            self._feed(data)

    def end(self) -> bool:
        """End the input; True if the response is complete."""
        if self.status is not None and not self._is_framed:
            self.is_complete = True
        return self.is_complete

    def _feed_within_bounds(self, data: bytes) -> None:
        """Feed up to each bound, so that it holds exactly for any split of the bytes."""
        begin = 0
        for most, is_within in ((_MOST_OF_HEAD, self._has_head), (_MOST_OF_ALL, self._has_ended)):
            room = most - (self.size - len(data))
            if begin < room:
                self._feed(data[begin:room])
                begin = room
            if self.is_complete:
                return
            if begin < len(data) and not is_within():
                raise BrokenResponse

    def _has_head(self) -> bool:
        return self.status is not None

    def _has_ended(self) -> bool:
        return self.is_complete

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # after its 101, which is complete
        except httptools.HttpParserError as error:
            self.is_reusable = False
            if isinstance(error.__context__, _Enough):
                self.is_complete = True
            elif error.__context__ is not None and not isinstance(error.__context__, BrokenResponse):
                raise error.__context__ from None  # a lack of memory, or a bug
            elif not self.is_complete:  # otherwise it is data after the response
                raise BrokenResponse from error

    # the callbacks of llhttp

    def on_message_begin(self) -> None:
        """At the first byte of a response, interim ones included."""
        if self.is_complete:
            raise _Enough
        self.fields = []
        self._reason = self._fields = 0

    def on_status(self, reason: bytes) -> None:
        """With a part of the reason phrase."""
        self._reason += len(reason)
        if self._reason > _MOST_OF_FIELD:
            raise BrokenResponse

    def on_header(self, name: bytes, value: bytes) -> None:
        """With a whole header, or a trailer, which is not kept."""
        self._fields += 1
        if b"\0" in value:  # RFC 9110, 5.5
            raise BrokenResponse
        if self._fields > _MOST_FIELDS or len(name) > _MOST_OF_FIELD or len(value) > _MOST_OF_FIELD:
            raise BrokenResponse
        if self.status is None:
            self.fields.append((name, value.rstrip(b" \t")))  # RFC 9112, 5; llhttp keeps the blanks after a value

    def on_headers_complete(self) -> None:
        """At the empty line."""
        status = self._parser.get_status_code()
        if status >= 200 or status == 101:
            self.status = status
            self._is_framed = status in _NO_BODY or _is_framed(self.fields)
            return
        self._interim += 1
        if status < 100 or self._interim > _MOST_INTERIM:
            raise BrokenResponse

    def on_body(self, part: bytes) -> None:
        """With a part of the body."""
        self.body += part
        if len(self.body) > MAX_BODY_BYTES:
            raise _Enough

    def on_message_complete(self) -> None:
        """At the last byte of a response that does not end with its connection."""
        if self.status is not None:
            self.is_complete = True
            # it is lost at the next byte; after a 101 the connection speaks another protocol
            self.is_reusable = self.status != 101 and self._parser.should_keep_alive()


def _is_framed(fields: list[tuple[bytes, bytes]]) -> bool:
    """True if the response says where its body ends (RFC 9112, 6.3); otherwise the body ends with the connection."""
    codings = b""
    for name, value in fields:
        lowered = name.rstrip().lower()
        if lowered == b"content-length":
            return True
        if lowered == b"transfer-encoding":
            codings = value
    return codings.rpartition(b",")[2].strip().lower() == b"chunked"
