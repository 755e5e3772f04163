"""Requests and answers, and the parts of HTTP that each handler meets: bodies, parameters, tokens, repeated calls."""
