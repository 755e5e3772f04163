"""A Django application with the one model that django-pghistory tracks."""
