"""Keep the audit log: entries by hand, retention, holds and erasure."""
