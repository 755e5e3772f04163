"""The names of the subjects, and of the saved file."""

from typing import Final

NAME: Final = "scale"
LISTS, READS = "lists of the log, by each filter and each two", "other reads of the log"
CLAIMS, CHANGES = "claims of a worker", "changes of many deliveries"
ROUTES, PAGES, PORTAL = "routes of the API, with each filter", "pages of the console", "pages of the portal"
INSTALLS, COMMANDS = "installs", "commands"
SUBJECTS: Final = (LISTS, READS, CLAIMS, CHANGES, ROUTES, PAGES, PORTAL, INSTALLS, COMMANDS)
