"""Settings for a statement whose planner has no choice but indexes, because its statistics are always wrong."""

from typing import Final

BY_INDEXES: Final = """
select set_config('statement_timeout', '3s', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
       set_config('jit', 'off', true)
"""
"""Run it before the statement, in the same transaction; it also limits the statement to 3 seconds."""
