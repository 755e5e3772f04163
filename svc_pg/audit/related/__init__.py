"""A record and the rows that refer to it by foreign keys, as the log knows them: their changes and their states."""
