"""Panels in the help of a group that has many commands."""

from collections.abc import Mapping
from typing import Any

from typer.core import TyperGroup


def paneled(panels: Mapping[str, str]) -> type[TyperGroup]:
    """A group whose help has its commands in these panels and in this order, by their names with blanks between.

    Others come last, without a panel.
    """

    class Paneled(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            others = dict(self.commands)
            self.commands = {}
            for panel, names in panels.items():
                for name in names.split():
                    self.commands[name] = command = others.pop(name)
                    command.rich_help_panel = panel  # type: ignore[attr-defined]  # of Typer's commands
            self.commands |= others

    return Paneled
