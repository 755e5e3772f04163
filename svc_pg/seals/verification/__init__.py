"""Verify seals, copies and proofs with a public key: without a database, and without what writes seals."""
