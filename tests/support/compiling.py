"""Compile all SQL templates, which takes most of the CPU time of a first install."""

from svc_pg.rendering.templates import _environment

for template in _environment().list_templates(extensions=["j2", "sql"]):
    _environment().get_template(template)
