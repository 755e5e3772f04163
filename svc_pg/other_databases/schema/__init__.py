"""Install svc-pg into SQLite, MySQL and MariaDB."""
