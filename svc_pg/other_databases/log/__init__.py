"""The audit log in SQLite, MySQL and MariaDB: read, exported, followed and purged by SQL that all of them speak."""
