"""The verifier in one file, for an auditor without svc-pg; nothing of svc-pg imports it, and it imports nothing."""
