"""Write entries of the audit log as Parquet, in row groups of a bounded size."""

import json
from collections.abc import Sequence
from typing import Any, BinaryIO, Final

from svc_pg.audit.log.export_fields import ARRAYS, FIELDS
from svc_pg.errors import ConfigError

GROUP_ENTRIES: Final = 65_536
GROUP_BYTES: Final = 16 * 1024 * 1024
_PART_ENTRIES: Final = 4_096
_PART_BYTES: Final = 1024 * 1024
"""The records that are taken apart at once: their text and their columns are in memory together."""

_NUMBERS: Final = frozenset({"id", "xactId"})
_SEARCHED: Final = [
    name for name in FIELDS if name not in ARRAYS | {"beforeData", "afterData", "context", "description"}
]
"""The columns whose least and greatest values let a reader skip a row group. PyArrow holds them until the file ends."""


class _Sink:
    """The output as PyArrow sees it. PyArrow ends a file when it frees the writer, so a lost one takes no more."""

    closed = False

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.is_lost = False

    def write(self, part: bytes) -> None:
        if not self.is_lost:
            self._out.write(part)


class RowGroups:
    """Records of CSV, whose columns get types: numbers, times of UTC, lists of texts; snapshots are JSON texts.

    CSV is what a COPY of PostgreSQL gives; PyArrow reads it without a Python object for each value. The columns of
    parts are kept until there are enough for a row group.
    """

    def __init__(self, out: BinaryIO) -> None:
        self.max_bytes = min(_PART_BYTES, GROUP_BYTES)
        self.max_records = min(_PART_ENTRIES, GROUP_ENTRIES)
        self._arrow = _arrow()
        self._sink = _Sink(out)
        self._file: Any = None
        self._tables: list[Any] = []
        self._entries = 0
        self._bytes = 0

    def write(self, records: Sequence[bytes], *, is_first: bool) -> None:
        """One more part; without records, nothing but the schema."""
        if is_first:
            self._file = self._arrow.parquet.ParquetWriter(
                self._sink, self._schema(), compression="zstd", write_statistics=_SEARCHED
            )
        if records:
            # without the end of its line, PyArrow reads an empty last field behind quotes as a text, and not as null
            text = b"\n".join([*records, b""])
            self._tables.append(self._table(text))
            self._entries += len(records)
            self._bytes += len(text)
        if self._entries >= GROUP_ENTRIES or self._bytes >= GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        tables, self._tables, self._entries, self._bytes = self._tables, [], 0, 0
        self._file.write_table(self._arrow.concat_tables(tables))

    def end(self) -> None:
        """Write the last row group, and the index of all."""
        if self._tables:
            self._write_group()
        self._file.close()

    def abandon(self) -> None:
        """Leave the file without its index, so that no reader accepts it as complete."""
        self._sink.is_lost = True

    def _schema(self) -> Any:
        pa = self._arrow
        types = dict.fromkeys(FIELDS, pa.string())
        types |= dict.fromkeys(_NUMBERS, pa.int64()) | dict.fromkeys(ARRAYS, pa.list_(pa.string()))
        return pa.schema(types | {"timestamp": pa.timestamp("us", tz="UTC")})

    def _table(self, records: bytes) -> Any:
        pa, schema = self._arrow, self._schema()
        table = pa.csv.read_csv(
            pa.BufferReader(records),
            read_options=pa.csv.ReadOptions(
                column_names=schema.names, use_threads=False, block_size=max(len(records), 1 << 20)
            ),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                column_types={field.name: pa.string() if field.name in ARRAYS else field.type for field in schema},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,  # an empty text has quotes, and a missing one has none
            ),
        )
        return pa.table([self._lists(table[n]) if n in ARRAYS else table[n] for n in schema.names], schema=schema)

    def _lists(self, column: Any) -> Any:
        """The lists of a JSON column, which has few different values."""
        pa = self._arrow
        texts = column.combine_chunks().dictionary_encode()
        return pa.array(map(json.loads, texts.dictionary.to_pylist()), pa.list_(pa.string())).take(texts.indices)


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ConfigError("parquet needs pyarrow", hint="Run: pip install 'svc-pg[parquet]'") from error
    return pyarrow
