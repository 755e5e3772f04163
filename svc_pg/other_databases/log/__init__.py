"""The audit log in SQLite, MySQL and MariaDB: read, exported, followed and purged by common SQL."""
