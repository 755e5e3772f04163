"""The next steps of a project, in order: commands, and lines for its files. The page on audit capture explains them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.scaffold.applications import Application, Connections, Framework, Place
from svc_pg.scaffold.project import Project

_HEADER: Final = 'extractor=from_header("X-User")'
_ASGI: Final = (
    "from svc_pg.integrations.asgi import ActorMiddleware",
    "from svc_pg.integrations.extractors import from_header",
    "{app}.add_middleware(ActorMiddleware, " + _HEADER + ")",
)
_LINES: Final[dict[Framework, tuple[str, ...]]] = {
    "FastAPI": _ASGI,
    "Starlette": _ASGI,
    "Litestar": (
        "from svc_pg.integrations.asgi import ActorMiddleware",
        "from svc_pg.integrations.extractors import from_header",
        "{app}.asgi_handler = ActorMiddleware({app}.asgi_handler, " + _HEADER + ")",
    ),
    "Flask": (
        "from svc_pg.integrations.extractors import from_header",
        "from svc_pg.integrations.wsgi import WsgiActorMiddleware",
        "{app}.wsgi_app = WsgiActorMiddleware({app}.wsgi_app, " + _HEADER + ")",
    ),
    "Django": (
        'INSTALLED_APPS += ["svc_pg.integrations.django"]',
        'MIDDLEWARE += ["svc_pg.integrations.django.actor_middleware"]',
        'SVC_CONFIG = "svc-pg.toml"',
    ),
}
_FLASKS_ENGINE: Final = ("with {app}.app_context():", "    with_audit({engine}.engine)")
TRUST: Final = (
    "A header that anybody can send is for trying out: from_bearer, from_cookie or acting_as name your users"
    " (docs/audit.md, The actor)"
)
ACTOR_OF_DJANGO: Final = "The actor is then the user who is signed in (docs/audit.md, The actor)"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: words, then commands or lines to add. ``place`` is the file and line after which they go."""

    words: str
    lines: Sequence[str] = ()
    place: Place | None = None


def next_steps(project: Project) -> list[Step]:
    """The steps after svc-pg.toml is written."""
    return [*_database(project), *_actor(project), Step("See what is recorded", ["svc-pg log"])]


def _database(project: Project) -> Iterator[Step]:
    kinds = project.migrations
    if "alembic" in kinds or "flask-migrate" in kinds:
        form = " --format alembic" if "django" in kinds else ""
        run = "alembic upgrade head" if "alembic" in kinds else "flask db upgrade"
        words = "Write the migration, and run it (docs/upgrading.md keeps autogenerate off the tables of svc-pg)"
        yield Step(words, [f"svc-pg migrate{form}", run])
    elif "django" not in kinds:
        yield Step("Install into the database, with every deployment", ["svc-pg install"])


def _actor(project: Project) -> Iterator[Step]:
    if project.is_prepared:
        yield Step("The lines of svc-pg are in the application already")
    elif project.has_django:
        yield _lines("Django", "settings", project.settings)
        yield Step(ACTOR_OF_DJANGO)
    for each in [] if project.is_prepared else project.applications:
        yield _lines(each.framework, each.place.target or "app", each.place)
    if project.applications and not project.is_prepared:
        yield Step(TRUST)
        yield from _engines(project)
    if project.has_django and "django" in project.migrations:
        yield Step(
            "Install with Django's migrations, also into the databases of tests (docs/upgrading.md)",
            ["python manage.py migrate"],
        )


def _lines(framework: Framework, app: str, place: Place | None) -> Step:
    lines = [line.format(app=app) for line in _LINES[framework]]
    return Step(f"Name the actor of each request of {framework}", lines, place)


def _engines(project: Project) -> Iterator[Step]:
    words = "Let each transaction tell the database its actor"
    places: dict[tuple[str, ...], list[Place]] = {}
    for each in project.connections:
        lines = tuple(_engine(each, project.applications))
        if each.is_flasks:  # its engine is made later, with the application
            yield Step(f"{words}: after the application has its {each.place.target or 'db'}", lines)
        else:
            places.setdefault(lines, []).append(each.place)
    for lines, found in places.items():
        if len(found) == 1:
            yield Step(words, lines, found[0])
        else:
            shown = ", ".join(f"{place.file}:{place.line}" for place in found)
            yield Step(f"{words}: after each of these that the application uses ({shown})", lines)
    if not project.connections:
        example = ["from svc_pg.integrations.sqlalchemy import with_audit", "with_audit(engine)"]
        yield Step(
            f"{words}: where an engine is made, or with svc_pg.integrations.psycopg a pool or connection", example
        )


def _engine(found: Connections, applications: Sequence[Application]) -> Iterator[str]:
    yield f"from svc_pg.integrations.{found.library} import with_audit"
    target = found.place.target or ("db" if found.is_flasks else "engine")
    if found.is_flasks:
        app = next((each.place.target for each in applications if each.framework == "Flask"), None) or "app"
        yield from (line.format(app=app, engine=target) for line in _FLASKS_ENGINE)
    else:
        yield f"with_audit({target})"
