"""Compile all SQL templates: what an install renders for the first time takes most of its processor's time."""

from svc_pg.rendering.templates import _environment

for template in _environment().list_templates(extensions=["j2", "sql"]):
    _environment().get_template(template)
