"""Verify seals, copies and proofs with a public key: without a database, and without the code that writes seals."""
