"""The parts of HTTP around the handlers: where a request comes from, how an answer goes out."""
