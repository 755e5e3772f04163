"""The look of the portal: its title, its one colour, its logo, and the sites that may have it in a frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from svc_pg.settings import Settings
from svc_pg.settings.types import Image


@dataclass(frozen=True, slots=True)
class Brand:
    """The marks by which customers know the application."""

    title: str
    accent: str | None
    logo: Image | None
    frame_ancestors: Sequence[str]

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The brand that the settings choose."""
        return cls(settings.portal_title, settings.portal_accent, settings.portal_logo, settings.portal_frame_ancestors)
