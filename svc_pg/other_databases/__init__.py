"""Capture, log, schema and actors on SQLite, MySQL and MariaDB."""
