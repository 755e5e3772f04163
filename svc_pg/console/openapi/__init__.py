"""The OpenAPI document, made of the products' endpoints."""
