"""Read TOML."""

import tomllib
from typing import Any


def parse(text: str) -> dict[str, Any]:
    """The document. Raises ValueError if it is not TOML, or more than Python reads."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # of int()
        raise ValueError("a number has too many digits") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
