"""Values of many types, for laws about snapshots."""

# Values that a snapshot gives back, as SQL. It does not tell JSON's null in a column from SQL's, nor -0 from 0.
VALUES: dict[str, list[str]] = {
    "integer": ["0", "-1", "2147483647"],
    "bigint": ["9007199254740993", "-9223372036854775808"],
    "numeric": ["0", "1.10", "'NaN'", "12345678901234567890.123456789", "1e-1000"],
    "money": ["'-92233720368547758.08'"],
    "real": ["1e-45", "3.4028235e38"],
    "double precision": ["0.1", "1e300", "'Infinity'", "'NaN'", "5e-324"],
    "text": ["''", "'a'", "'ä''\"\\\\'", "E'line\\nbreak'", "'null'", "repeat('long', 3000)"],
    "boolean": ["true", "false"],
    "timestamptz": ["'2026-03-29 02:30+01'", "'infinity'", "'0044-03-15 12:00 BC'"],
    "timestamp": ["'294276-12-31 23:59:59.999999'", "'4713-11-25 00:00 BC'"],
    "date": ["'2026-02-28'", "'-infinity'", "'4713-01-01 BC'"],
    "timetz": ["'24:00+15:59'"],
    "interval": ["'1 month -3 days 04:05:06.789'", "'0'"],
    "uuid": ["'00000000-0000-0000-0000-000000000001'"],
    "bytea": ["'\\x00ff'", "''"],
    "bit varying": ["b''", "b'101'"],
    "jsonb": ['\'{"a": [1, null, "x"]}\'', "'\"text\"'", '\'{"sha256": "x"}\'', "'1e400'"],
    "jsonb[]": ["array['{}', null]::jsonb[]"],
    "integer[]": ["'{}'", "'{1,NULL,3}'", "'{{1,2},{3,4}}'"],
    "text[]": ['\'{"a,b","",NULL}\''],
    "int4range": ["'[1,5)'", "'empty'", "'(,7]'"],
    "inet": ["'10.0.0.1/8'", "'::1'"],
    "point": ["'(1.5,-2)'"],
    "mood": ["'sad'", "'ok'"],
    "pair": ["'(1,\"a b\")'", "'(,)'"],
    "pair[]": ["array[row(1, 'a')::pair, null, row(null, null)::pair]"],
    "positive": ["1", "7"],
    "tsvector": ["'fat & rat'", "''"],
    "tstzrange": ["'(,\"0044-01-01 BC\"]'", "'[2026-01-01,infinity)'"],
}
TYPES = """
create type mood as enum ('sad', 'ok');
create type pair as (a integer, b text);
create domain positive as integer check (value > 0);
"""
