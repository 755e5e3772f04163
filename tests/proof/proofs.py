"""The proofs: the promises of the documentation by subject, and the modules of tests that show each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.proof.threats import threats


@dataclass(frozen=True, slots=True)
class Proof:
    """A set of promises: ``sentence`` says what holds if no test of the ``modules`` fails."""

    name: str
    sentence: str
    modules: Sequence[str]


PROOFS: Final = (
    Proof(
        "threats",
        "each attacker of docs/explanation/protection.md is stopped as that page says",
        [module for threat in threats() for module in threat.modules],
    ),
    Proof(
        "law",
        "the log tells the rows back, whatever a random business does, on each database",
        [
            "audit/test_replay",
            "audit/test_rebuild",
            "audit/test_order_of_change",
            "audit/test_record_history",
            "audit/test_recorded_changes",
            "audit/test_time_travel",
            "audit/test_conditions",
            "audit/test_daily_partitions",
            "sqlite/test_sqlite_replay",
            "sqlite/test_sqlite_omissions",
            "mysql/test_replay",
            "mysql/test_equal_entries",
            "e2e/test_chinook_past",
        ],
    ),
    Proof(
        "queue",
        "a delivery is in the state that the model says, and keyed ones are in order, whatever is done to them",
        [
            "webhooks/test_delivery_states",
            "webhooks/test_managed_ordering",
            "webhooks/test_ordering",
            "webhooks/test_rates",
            "webhooks/test_keys",
            "webhooks/test_attempt_waits",
            "webhooks/test_why_and_claims",
        ],
    ),
    Proof(
        "chaos",
        "nothing is lost if workers are killed, connections cut, receivers hostile and servers away",
        [
            "faults/test_kill",
            "faults/test_random",
            "faults/test_connections",
            "faults/test_locks",
            "faults/test_receivers",
            "webhooks/test_lost_attempts",
            "webhooks/test_silent_database",
            "webhooks/test_worker_faults",
            "e2e/test_sigterm",
        ],
    ),
    Proof(
        "crash",
        "after a crash of the server, log, queue and seals have what clients were told, and no more",
        ["faults/test_crash"],
    ),
    Proof(
        "failover",
        "standbys, promotions, restored dumps and logical replication keep the log, the queue and the seals",
        [
            "audit/test_standby",
            "e2e/test_sequences_after_a_failover",
            "e2e/test_replicated_database",
            "e2e/test_logical_replication",
            "e2e/test_restored_log",
        ],
    ),
    Proof(
        "fuzz",
        "no input raises anything but the error that is documented for it",
        [
            "unit/test_verify_alone",
            "unit/test_certificates_alone",
            "unit/test_seal_verifier",
            "unit/test_hostile_config",
            "unit/test_installed_parts",
            "unit/test_pagination",
            "integration/test_hostile_cursors",
            "unit/test_durations",
            "unit/test_periods",
            "unit/test_table_names",
            "unit/test_json_text",
            "unit/test_json_writer",
            "unit/test_proposal_text",
            "unit/test_exported_page",
            "unit/test_format_difference",
            "unit/test_look_alikes",
            "unit/test_unseen",
            "unit/client/test_client_addresses",
            "unit/console/test_questions",
            "unit/console/test_question_completion",
            "unit/console/test_json_bodies",
            "unit/console/test_codes",
            "unit/console/test_differences",
            "unit/console/test_difference_characters",
            "unit/console/test_difference_lines",
            "unit/console/test_difference_paths",
            "unit/console/test_difference_sequences",
            "unit/console/test_difference_values",
            "unit/webhooks/test_guard",
            "unit/webhooks/test_hostile_signatures",
            "unit/webhooks/test_payload_examples",
            "unit/webhooks/test_payload_summary",
            "unit/webhooks/test_response",
            "unit/webhooks/test_response_reader",
            "unit/webhooks/test_secrets",
            "unit/webhooks/test_signing",
            "unit/webhooks/test_tls",
            "unit/webhooks/test_transport_responses",
            "unit/webhooks/test_tunnel",
            "actor/test_extractors",
            "actor/test_hostile_requests",
            "integration/test_render",
            "integration/console/test_conformance",
        ],
    ),
    Proof(
        "interop",
        "receivers, signers, clients and drivers of others understand what is sent, and are understood",
        [
            "webhooks/test_peers",
            "webhooks/test_documented_receivers",
            "e2e/test_receiver_in_express",
            "e2e/test_generated_clients",
            "e2e/test_typescript_client",
            "e2e/test_actors_in_other_languages",
            "e2e/test_other_writers",
        ],
    ),
    Proof(
        "upgrade",
        "a database of the commit before is installed over, while its programs go on",
        ["e2e/test_upgrade"],
    ),
)
