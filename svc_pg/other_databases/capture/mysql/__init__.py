"""Capture on MySQL and MariaDB."""
