"""SQL from templates, and the schema objects that it creates."""
