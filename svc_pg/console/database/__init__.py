"""The console's connections: a pool, and the state of a database that does not answer."""
