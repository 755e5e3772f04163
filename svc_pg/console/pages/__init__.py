"""The pages of the console, below ``/.well-known/svc/ui/``: server pages that call the console's own API."""
