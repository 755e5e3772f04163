"""The wing of SQLite, MySQL and MariaDB: what svc-pg does there as on PostgreSQL."""
