"""The pages of the console, below ``/.well-known/svc/ui/``: server pages that call the console's own API.

``site`` answers a request for a page: it finds the route, makes a ``visit`` of it, calls the page's view, and has the
answer rendered. The folders hold the views, in the groups of the navigation; ``api`` is their only way to data.
"""
