"""The pages of the console, below ``/.well-known/svc/ui/``: server pages that call the console's own API.

``site`` answers a request: it finds the route, makes a ``PageRequest``, calls the view of the page, and renders its
answer. The folders hold the views, in the groups of the navigation; ``api`` is their only way to data.
"""
