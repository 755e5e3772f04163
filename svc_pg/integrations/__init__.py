"""Bring the actor of a request into its transactions: ASGI, WSGI, Django; psycopg, SQLAlchemy."""
