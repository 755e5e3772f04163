"""The next steps of a project, in order: commands, and lines for its files. The page on audit capture explains them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.scaffold.applications import Application, Connections, Framework, Place
from svc_pg.scaffold.prepared import DjangoSetting
from svc_pg.scaffold.project import Project

_HEADER: Final = 'extractor=from_header("X-User")'
_ASGI: Final = (
    "from svc_pg.integrations.asgi import ActorMiddleware",
    "from svc_pg.integrations.extractors import from_header",
    "{app}.add_middleware(ActorMiddleware, " + _HEADER + ")",
)
_LINES: Final[dict[Framework, Sequence[str]]] = {
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
}
_DJANGO: Final[dict[DjangoSetting, str]] = {
    "INSTALLED_APPS": 'INSTALLED_APPS += ["svc_pg.integrations.django"]',
    "MIDDLEWARE": 'MIDDLEWARE += ["svc_pg.integrations.django.actor_middleware"]',
    "SVC_CONFIG": 'SVC_CONFIG = "svc-pg.toml"',
}
_FLASKS_ENGINE: Final = ("with {app}.app_context():", "    with_audit({engine}.engine)")
TRUST: Final = (
    "A header that anybody can send is for trying out: from_bearer, from_cookie or acting_as name your users"
    " (the page Audit capture, The actor)"
)
ACTOR_OF_DJANGO: Final = "The actor is then the user who is signed in (the page Audit capture, The actor)"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: words, then commands or lines to add. ``place`` is the file and line after which they go."""

    words: str
    lines: Sequence[str] = ()
    place: Place | None = None


def next_steps(project: Project) -> list[Step]:
    """The steps after svc-pg.toml is written."""
    lines = lacking_lines(project)
    if not lines and (project.prepared or any(each.is_prepared for each in project.applications)):
        lines = [Step("The lines of svc-pg are in the application already")]
    return [*_database(project), *lines, *_migrate(project), Step("See what is recorded", ["svc-pg log"])]


def lacking_lines(project: Project) -> list[Step]:
    """The steps of the lines that the project's files lack, none if they have all."""
    lacking = [each for each in project.applications if not each.is_prepared]
    steps = [*_django(project)] if project.has_django else []
    steps += [_lines(each) for each in lacking]
    if lacking:
        steps.append(Step(TRUST))
    if project.applications:
        return [*steps, *_engines(project)]
    return steps if project.has_django else [*_engines(project), *_without_framework(project)]


def _database(project: Project) -> Iterator[Step]:
    kinds = project.migrations
    if "alembic" in kinds or "flask-migrate" in kinds:
        form = " --format alembic" if "django" in kinds else ""
        run = "alembic upgrade head" if "alembic" in kinds else "flask db upgrade"
        words = "Write the migration, and run it (the page Upgrade, Alembic's autogenerate, keeps it off our tables)"
        yield Step(words, [f"svc-pg migrate{form}", run])
    elif "django" not in kinds:
        yield Step("Install into the database, with every deployment", ["svc-pg install"])


def _django(project: Project) -> Iterator[Step]:
    lacking = [setting for setting in _DJANGO if setting not in project.prepared]
    if not lacking:
        return
    names_actor = "MIDDLEWARE" in lacking
    words = "Name the actor of each request of Django" if names_actor else "Complete the settings of Django"
    lines = [_of_tuple(_DJANGO[setting]) if setting in project.tuples else _DJANGO[setting] for setting in lacking]
    yield Step(words, lines, project.settings)
    if names_actor:
        yield Step(ACTOR_OF_DJANGO)


def _of_tuple(line: str) -> str:
    return line.replace("[", "(").replace("]", ",)")


def _migrate(project: Project) -> Iterator[Step]:
    if "django" in project.migrations:
        yield Step(
            "Install with Django's migrations, also into the databases of tests (the page Upgrade)",
            ["python manage.py migrate"],
        )


def _lines(application: Application) -> Step:
    target = application.place.target or "app"
    lines = [line.format(app=target) for line in _LINES[application.framework]]
    return Step(f"Name the actor of each request of {application.framework}", lines, application.place)


def _engines(project: Project) -> Iterator[Step]:
    words = "Let each transaction tell the database its actor"
    places: dict[tuple[str, ...], list[Place]] = {}
    for each in project.connections:
        if each.is_prepared:
            continue
        lines = tuple(_engine(each, project.applications))
        if each.is_flasks:  # its engine is made later, with the application
            made = f"{each.place.target or 'db'} ({each.place.file}:{each.place.line})"
            yield Step(f"{words}: after the application has its {made}", lines)
        else:
            places.setdefault(lines, []).append(each.place)
    for lines, found in places.items():
        if len(found) == 1:
            yield Step(words, lines, found[0])
        else:
            shown = ", ".join(f"{place.file}:{place.line}" for place in found)
            yield Step(f"{words}: after each of these that the application uses ({shown})", lines)
    if not project.connections and not all(each.is_prepared for each in project.applications):
        example = ["from svc_pg.integrations.sqlalchemy import with_audit", "with_audit(engine)"]
        yield Step(
            f"{words}: where an engine is made, or with svc_pg.integrations.psycopg a pool or connection", example
        )


def _without_framework(project: Project) -> Iterator[Step]:
    """The actor of a script, a job or a framework that svc-pg has no middleware for."""
    if project.connections and not all(each.is_prepared for each in project.connections):
        words = "Name the actor around what a request or a job does (the page Name the actor everywhere)"
        yield Step(words, ["from svc_pg import audit", 'with audit.acting("nightly-import"):'])


def _engine(found: Connections, applications: Sequence[Application]) -> Iterator[str]:
    yield f"from svc_pg.integrations.{found.library} import with_audit"
    target = found.place.target or ("db" if found.is_flasks else "engine")
    if found.is_flasks:
        app = next((each.place.target for each in applications if each.framework == "Flask"), None) or "app"
        yield from (line.format(app=app, engine=target) for line in _FLASKS_ENGINE)
    else:
        yield f"with_audit({target})"
