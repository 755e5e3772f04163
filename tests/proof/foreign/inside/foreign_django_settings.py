"""The settings of Django's own suite on PostgreSQL."""

import os

DATABASES = {
    alias: {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": "127.0.0.1",
        "PORT": os.environ["FOREIGN_PORT"],
        "USER": "postgres",
        "NAME": alias,
        "TEST": {"TEMPLATE": os.environ["FOREIGN_DATABASE"]},
    }
    for alias in ("default", "other")
}
SECRET_KEY = "django_tests_secret_key"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
TEST_RUNNER = "foreign_django.Runner"
