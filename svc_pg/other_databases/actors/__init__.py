"""The actor of a connection's changes on SQLite, and on MySQL and MariaDB."""
