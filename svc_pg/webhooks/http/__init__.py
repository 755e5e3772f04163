"""HTTP to receivers nobody has to trust: the transport, its guard and the response that is kept."""
