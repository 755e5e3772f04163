"""An install as files, for teams that deploy by psql, Alembic or Django."""
