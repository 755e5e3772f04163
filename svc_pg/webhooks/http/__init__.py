"""HTTP to untrusted receivers: the transport, its guard and the part of the response that is kept."""
