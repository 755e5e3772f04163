"""Seals of the audit log: signed commitments that reveal later changes. Written and verified apart."""
