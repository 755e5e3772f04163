"""Render what records and sends the changes of tables: rules become SQL."""
