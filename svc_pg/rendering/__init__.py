"""SQL from templates, and the objects that it makes."""
