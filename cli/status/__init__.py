"""Facts of a database that ``status`` shows beside its objects, each read and printed by a module."""
