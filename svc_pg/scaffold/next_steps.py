"""The next steps of a project, in order: commands, and lines for its files. The page on audit capture explains them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.scaffold.applications import Application, Connections, Framework, Maker
from svc_pg.scaffold.prepared import DjangoSetting
from svc_pg.scaffold.project import Project
from svc_pg.scaffold.syntax_trees import Place

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
_ENGINES: Final[dict[Maker, Sequence[str]]] = {
    "engine": ("with_audit({engine})",),
    "flask": ("with {app}.app_context():", "    with_audit({engine}.engine)"),
    "config": ("with_audit({engine}.get_engine())",),
}
_USUAL_NAMES: Final[dict[Maker, str]] = {"engine": "engine", "flask": "db", "config": "config"}
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
    lacking = [each for each in project.applications if not each.is_prepared and not each.is_mounted]
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
    place = application.place
    words = f"Name the actor of each request of {application.framework}"
    lines = [line.format(app=place.target or "app") for line in _LINES[application.framework]]
    if place.is_returned:
        words += ": write app = for return at this application, and add"
        lines.append("return app")
    elif place.target is None:
        words += ": the application has no name there, so give it one (app is a guess), and add"
    return Step(words, lines, place)


def _engines(project: Project) -> Iterator[Step]:
    words = "Let each transaction tell the database its actor"
    places: dict[tuple[bool, tuple[str, ...]], list[Place]] = {}
    for each in project.connections:
        if each.is_prepared:
            continue
        lines = tuple(_engine(each, project.applications))
        if each.maker == "flask":  # its engine is made later, with the application
            made = f"{each.place.target or 'db'} ({each.place.file}:{each.place.line})"
            yield Step(f"{words}: after the application has its {made}", lines)
        else:
            is_named = each.place.target is not None
            places.setdefault((is_named, lines if is_named else lines[:1]), []).append(each.place)
    for (is_named, lines), found in places.items():
        shown = ", ".join(f"{place.file}:{place.line}" for place in found)
        if not is_named:
            yield Step(
                f"{words}: write with_audit(...) around each of these that the application uses ({shown})", lines
            )
        elif len(found) == 1:
            yield Step(words, lines, found[0])
        else:
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
    app = next((each.place.target for each in applications if each.framework == "Flask"), None) or "app"
    engine = found.place.target or _USUAL_NAMES[found.maker]
    yield from (line.format(app=app, engine=engine) for line in _ENGINES[found.maker])
