"""The commands ``console view list`` and ``console view delete``."""

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

import typer

from svc_pg.console.views import named_views
from svc_pg.console.views.named_views import NamedView, ViewedList
from svc_pg.errors import NotFoundError

from .. import output
from ..confirming import Yes, confirm
from ..database import connect
from ..json_text import printable
from ..lists import show_list
from ..operator import operator
from ..options import After, Json, PostgresUrl

views = typer.Typer(help="List and delete the views that are kept in the console.", no_args_is_help=True)


@views.command(name="list")
def list_(
    *,
    of: Annotated[ViewedList | None, typer.Option(help="Views of this list alone.")] = None,
    text: Annotated[str | None, typer.Option(metavar="LETTERS", help="Views with these letters in their name.")] = None,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """List the views of the team and of everybody, by name, up to 1,000."""
    wanted = named_views.query().limit(1000)
    if of is not None:
        wanted = wanted.of(of)
    if text is not None:
        wanted = wanted.text(text)
    none = "No view is kept. The console keeps a question beside the bar of its list."
    page = show_list(wanted, _view, none=none, database_url=database_url, as_json=json, after=after)
    output.more(page.next_cursor, has_limit=False)


def _view(view: NamedView) -> Iterator[str]:
    whose = "the team's" if view.is_of_team else f"of {printable(view.created_by)} alone"
    yield f"{view.id}  {printable(view.name)}"
    yield f"    {whose}, {view.of}: {printable(view.question)}"


@views.command()
def delete(
    view_id: Annotated[UUID, typer.Argument(metavar="ID", help="The id of a view, the team's or somebody's own.")],
    *,
    yes: Yes = False,
    database_url: PostgresUrl = None,
) -> None:
    """Delete a view, whoever has it."""
    with connect(database_url) as conn:
        found = named_views.query().id(view_id).list(conn).data
        if not found:
            raise NotFoundError(f"no view has the id {view_id}", hint="List them: svc-pg console view list")
        conn.commit()  # a question may wait for long
        words = f"the view {printable(found[0].name)}"
        confirm(f"Delete {words}?", yes=yes)
        with operator(conn):
            named_views.delete_any(conn, view_id)
        conn.commit()
    output.words(f"deleted {words}")
