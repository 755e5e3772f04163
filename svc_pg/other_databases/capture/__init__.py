"""Capture on SQLite, MySQL and MariaDB: rules as triggers."""
