"""Test a served application against its OpenAPI document, with valid and invalid requests."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from svc_pg.console.openapi.problems import CODES, PROBLEM

RANDOM_IN_A_THREAD = "ignore:Do not use the `random` module inside strategies"
"""For Hypothesis' own warning: the console, served by a thread, may use ``random`` while an example is drawn."""


def operations(document: Mapping[str, Any]) -> list[str]:
    """The operations, for example ``GET /audit/entries``."""
    return [f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item]


def assert_conforms(
    document: Mapping[str, Any],
    operation: str,
    *,
    base_url: str,
    headers: Mapping[str, str],
    path_parameters: Mapping[str, str] | None = None,
    examples: int = 150,
) -> None:
    """Assert that no answer is a 5xx, and that each has a documented status, media type, body and problem code.

    Invalid bodies are refused, and so is a request without a required session. Without ``path_parameters`` they are
    made up. ``examples`` are those of the profile ``thorough``.
    """
    import requests  # here, as these take two seconds of every run to import
    import schemathesis
    from schemathesis.core.result import Ok
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi import checks

    # A cursor is text, but not any text is a cursor; a wrong method is 404, as the specification says
    not_promised = [checks.positive_data_acceptance, checks.unsupported_method]
    schema = schemathesis.openapi.from_dict(dict(document))
    refusals = schema.config.checks.negative_data_rejection
    refusals.expected_statuses = [*(refusals.expected_statuses or []), "413"]  # one that is made up may be too large
    found = next(
        each.ok() for each in schema.get_all_operations() if isinstance(each, Ok) and each.ok().label == operation
    )
    method, _, path = operation.partition(" ")
    promised = document["paths"][path][method.lower()]["responses"]
    has_body = len(found.body) > 0
    # in a query an object or a list that does not fit may be sent as text that does
    unchecked = not_promised if has_body else [*not_promised, checks.negative_data_rejection]
    modes = (
        [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
        if has_body or len(found.query) > 0
        else [GenerationMode.POSITIVE]
    )
    fixed = None if path_parameters is None else dict(path_parameters)
    share = settings().max_examples / settings.get_profile("thorough").max_examples
    for mode in modes:
        strategy = found.as_strategy(mode, path_parameters=fixed)

        @given(case=strategy)
        @settings(
            max_examples=ceil(examples * share),
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def holds(session: requests.Session, case: Any) -> None:
            answer = case.call_and_validate(base_url, session, headers=dict(headers), excluded_checks=unchecked)
            if answer.headers.get("content-type") == [PROBLEM]:
                code, status = answer.json()["code"], str(answer.status_code)
                assert code in promised.get(status, {}).get(CODES, ["not_found"]), (status, code)

        with requests.Session() as session:  # a connection for all examples
            session.trust_env = False  # it reads the whole environment for each request
            holds(session)
