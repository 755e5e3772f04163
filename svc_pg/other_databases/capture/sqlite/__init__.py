"""Capture in SQLite: facts of tables, expressions and triggers."""
