"""Rows of a table, made from an export of the audit log alone: no database is needed."""
