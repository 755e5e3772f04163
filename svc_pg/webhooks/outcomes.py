"""How an attempt can end."""

from typing import Literal

Outcome = Literal["success", "http_error", "timeout", "connect_error", "tls_error", "dns_error", "blocked"]
"""As its worker says."""

RecordedOutcome = Literal[Outcome, "lost"]
"""As the constraint of the table has them; ``lost`` is an attempt whose worker did not say how it ended."""
