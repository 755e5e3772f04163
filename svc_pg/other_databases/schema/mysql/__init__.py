"""Install into MySQL and MariaDB."""
