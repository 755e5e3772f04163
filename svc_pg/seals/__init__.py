"""Seals of the audit log: signed commitments, which tell later what was changed. Written and verified apart."""
