"""Turn rules into the SQL that records and sends the changes of tables."""
