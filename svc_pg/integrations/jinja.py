"""Templates for Jinja, in FastAPI and Flask: ``{% include "svc_pg/who_changed.html" %}``."""

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader


def add_templates(environment: Environment) -> None:
    """Let templates include those of svc-pg, below ``svc_pg/``; one of yours with the same name comes first.

    In FastAPI: ``add_templates(templates.env)``. In Flask: ``add_templates(app.jinja_env)``.
    """
    ours = PackageLoader("svc_pg.integrations")
    loaders: list[BaseLoader] = [ours] if environment.loader is None else [environment.loader, ours]
    environment.loader = ChoiceLoader(loaders)
