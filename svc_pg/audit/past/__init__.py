"""Tell the past from the audit log: histories, rows as of a time, and changes taken back."""
