"""The operations and answers of the API, made of docs/openapi.json by tests/support/client_source.py."""
