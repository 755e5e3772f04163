"""The operations of the API as data, made of docs/openapi.json by tests/support/client_source.py."""

from types import NoneType
from typing import Any, Final

from svc_pg.client.answers import Page
from svc_pg.client.generated import models, requests
from svc_pg.client.operations import Operation

PREFIX: Final = "/.well-known/svc"
OPENAPI_GET: Final = Operation("GET", "/console/openapi.json", dict[str, Any], signed_by="none")
HEALTH_GET: Final = Operation("GET", "/console/health", models.Health, signed_by="none")
READY_GET: Final = Operation("GET", "/console/ready", models.ReadinessReport, signed_by="none")
CAPABILITIES_GET: Final = Operation("GET", "/console/capabilities", models.Capabilities, signed_by="none")
PORTAL_OPEN: Final = Operation(
    "POST", "/console/portal/open", models.OpenedPortalSession, body=requests.OpenPortalRequest, signed_by="none"
)
SIGN_IN_BEGIN: Final = Operation(
    "POST", "/console/session/init", models.PendingSignIn, body=requests.MagicLinkRequest, signed_by="none"
)
SIGN_IN_VERIFY: Final = Operation(
    "POST", "/console/session/verify", models.Verified, body=requests.VerifyRequest, signed_by="device"
)
SIGN_IN_POLL: Final = Operation(
    "GET", "/console/session/poll", models.SignInState, query=requests.SignInPollQuery, signed_by="device"
)
SIGN_IN_CLAIM: Final = Operation(
    "POST", "/console/session/claim", models.ClaimedSession, body=requests.ClaimRequest, signed_by="device"
)
SESSION_GET: Final = Operation("GET", "/account/session", models.Session)
SESSION_DELETE: Final = Operation("DELETE", "/account/session", NoneType)
OWN_SESSIONS_LIST: Final = Operation(
    "GET", "/account/own-sessions", Page[models.SessionRecord], query=requests.OwnSessionsListPage
)
OWN_SESSIONS_GET: Final = Operation("GET", "/account/own-sessions/{id}", models.SessionRecord)
OWN_SESSIONS_REVOKE: Final = Operation("DELETE", "/account/own-sessions/{id}", NoneType)
SESSIONS_LIST: Final = Operation(
    "GET", "/account/sessions", Page[models.SessionRecord], query=requests.SessionsListPage
)
SESSIONS_GET: Final = Operation("GET", "/account/sessions/{id}", models.SessionRecord)
SESSIONS_REVOKE: Final = Operation("DELETE", "/account/sessions/{id}", NoneType)
TOKENS_LIST: Final = Operation("GET", "/account/tokens", Page[models.ApiToken], query=requests.TokensListPage)
TOKENS_CREATE: Final = Operation(
    "POST", "/account/tokens", models.CreatedToken, body=requests.CreateTokenRequest, with_key=True
)
TOKENS_GET: Final = Operation("GET", "/account/tokens/{id}", models.ApiToken)
TOKENS_REVOKE: Final = Operation("DELETE", "/account/tokens/{id}", NoneType)
VIEWS_LIST: Final = Operation("GET", "/account/views", Page[models.NamedView], query=requests.ViewsListPage)
VIEWS_CREATE: Final = Operation(
    "POST", "/account/views", models.NamedView, body=requests.CreateViewRequest, with_key=True
)
VIEWS_GET: Final = Operation("GET", "/account/views/{id}", models.NamedView)
VIEWS_UPDATE: Final = Operation("PATCH", "/account/views/{id}", models.NamedView, body=requests.UpdateViewRequest)
VIEWS_DELETE: Final = Operation("DELETE", "/account/views/{id}", NoneType)
OWN_VIEWS_CREATE: Final = Operation(
    "POST", "/account/own-views", models.NamedView, body=requests.CreateViewRequest, with_key=True
)
OWN_VIEWS_UPDATE: Final = Operation(
    "PATCH", "/account/own-views/{id}", models.NamedView, body=requests.UpdateViewRequest
)
OWN_VIEWS_DELETE: Final = Operation("DELETE", "/account/own-views/{id}", NoneType)
CONSOLE_EVENTS_LIST: Final = Operation(
    "GET", "/account/events", Page[models.ConsoleEvent], query=requests.ConsoleEventsListPage
)
DATA_CHANGES_LIST: Final = Operation(
    "GET", "/account/data-changes", Page[models.Entry], query=requests.DataChangesListPage, with_commas=("fields",)
)
SYSTEM_GET: Final = Operation("GET", "/account/system", models.SystemStatus)
SUGGESTIONS_LIST: Final = Operation(
    "GET", "/account/suggestions", models.Suggestions, query=requests.SuggestionsListQuery
)
CHANGES_STREAM: Final = Operation("GET", "/account/changes", str)
ENTRIES_LIST: Final = Operation(
    "GET", "/audit/entries", Page[models.Entry], query=requests.EntriesListPage, with_commas=("fields",)
)
ENTRIES_PURGE: Final = Operation("DELETE", "/audit/entries", models.PurgeReport, query=requests.EntriesPurgeQuery)
ENTRIES_GET: Final = Operation("GET", "/audit/entries/{id}", models.Entry)
RECORDS_ENTRIES: Final = Operation(
    "GET", "/audit/records/{table}/{id}", Page[models.Entry], query=requests.RecordsEntriesPage, with_commas=("fields",)
)
TRANSACTIONS_LIST: Final = Operation(
    "GET", "/audit/transactions", Page[models.LoggedTransaction], query=requests.TransactionsListPage
)
RECORDS_STATES: Final = Operation(
    "GET", "/audit/records/{table}/{id}/states", Page[models.RecordState], query=requests.RecordsStatesPage
)
RECORDS_BLAME: Final = Operation(
    "GET", "/audit/records/{table}/{id}/blame", Page[models.FieldOrigin], query=requests.RecordsBlamePage
)
RECORDS_AS_OF: Final = Operation(
    "GET", "/audit/records/{table}/{id}/as-of", models.PastRow, query=requests.RecordsAsOfQuery
)
TABLES_AS_OF: Final = Operation(
    "GET", "/audit/tables/{table}/as-of", Page[models.PastRow], query=requests.TablesAsOfPage
)
TABLES_SILENCES: Final = Operation("GET", "/audit/tables/{table}/silences", Page[models.Silence])
RECORDS_TRACKS: Final = Operation(
    "GET", "/audit/records/{table}/{id}/tracks", models.RecordTracks, query=requests.RecordsTracksPage
)
RECORDS_RELATED: Final = Operation(
    "GET", "/audit/records/{table}/{id}/related", models.RelatedHistory, query=requests.RecordsRelatedPage
)
RECORDS_READS: Final = Operation(
    "GET", "/audit/records/{table}/{id}/reads", Page[models.RecordRead], query=requests.RecordsReadsPage
)
TABLES_READS: Final = Operation(
    "GET", "/audit/tables/{table}/reads", Page[models.RecordRead], query=requests.TablesReadsPage
)
ENTRIES_DIFF: Final = Operation("GET", "/audit/entries/{id}/diff", models.EntryDiff)
ENTRIES_REVERT: Final = Operation("GET", "/audit/entries/{id}/revert", models.Revert, query=requests.EntriesRevertQuery)
TRANSACTIONS_REVERT: Final = Operation(
    "GET", "/audit/transactions/{id}/revert", models.Revert, query=requests.TransactionsRevertQuery
)
SEALS_LIST: Final = Operation("GET", "/audit/seals", Page[models.AuditSeal], query=requests.SealsListPage)
ENTRIES_SEAL: Final = Operation("GET", "/audit/entries/{id}/seal", models.EntrySeal)
ENTRIES_PROOF: Final = Operation("GET", "/audit/entries/{id}/proof", dict[str, Any])
HOLDS_LIST: Final = Operation("GET", "/audit/holds", Page[models.Hold], query=requests.HoldsListPage)
SEALS_KEYS: Final = Operation("GET", "/audit/seals/keys", models.SealPublicKeys)
ENTRIES_CERTIFICATE: Final = Operation("GET", "/audit/entries/{id}/certificate", models.Certificate)
RECORDS_CERTIFICATE: Final = Operation("GET", "/audit/records/{table}/{id}/certificate", models.Certificate)
ENTRIES_ERASURE: Final = Operation("GET", "/audit/entries/{id}/erasure", models.Certificate)
ENTRIES_STATS: Final = Operation("GET", "/audit/stats", models.AuditStats, query=requests.EntriesStatsQuery)
ENTRIES_FACETS: Final = Operation("GET", "/audit/facets", models.Facets, query=requests.EntriesFacetsQuery)
ENTRIES_VALUES: Final = Operation("GET", "/audit/values", models.KnownValues, query=requests.EntriesValuesQuery)
TABLES_LIST: Final = Operation("GET", "/audit/tables", Page[models.CapturedTable], query=requests.TablesListPage)
COVERAGE_LIST: Final = Operation("GET", "/audit/coverage", Page[models.CoveredTable], query=requests.CoverageListPage)
COVERAGE_COUNTS: Final = Operation(
    "GET", "/audit/coverage/counts", models.CoverageCounts, query=requests.CoverageCountsQuery
)
ENTRIES_EXPORT: Final = Operation("GET", "/audit/export", Any, query=requests.EntriesExportFile)
ENDPOINTS_LIST: Final = Operation(
    "GET", "/webhooks/endpoints", Page[models.Endpoint], query=requests.EndpointsListPage, with_commas=("ids",)
)
ENDPOINTS_CREATE: Final = Operation(
    "POST", "/webhooks/endpoints", models.RegisteredEndpoint, body=requests.CreateEndpointRequest, with_key=True
)
ENDPOINTS_LIST_HEALTH: Final = Operation(
    "GET",
    "/webhooks/endpoints/health",
    Page[models.EndpointHealth],
    query=requests.EndpointsListHealthPage,
    with_commas=("ids",),
)
ENDPOINTS_GET: Final = Operation("GET", "/webhooks/endpoints/{id}", models.Endpoint)
ENDPOINTS_UPDATE: Final = Operation(
    "PATCH", "/webhooks/endpoints/{id}", models.Endpoint, body=requests.UpdateEndpointRequest
)
ENDPOINTS_DELETE: Final = Operation("DELETE", "/webhooks/endpoints/{id}", NoneType)
ENDPOINTS_STATS: Final = Operation(
    "GET", "/webhooks/endpoints/{id}/stats", models.EndpointStats, query=requests.EndpointsStatsQuery
)
ENDPOINTS_OUTAGE: Final = Operation("GET", "/webhooks/endpoints/{id}/outage", models.EndpointOutage)
ENDPOINTS_PAUSE: Final = Operation("POST", "/webhooks/endpoints/{id}/pause", models.Endpoint)
ENDPOINTS_RESUME: Final = Operation("POST", "/webhooks/endpoints/{id}/resume", models.Endpoint)
ENDPOINTS_DISABLE: Final = Operation(
    "POST", "/webhooks/endpoints/{id}/disable", models.Endpoint, body=requests.DisableEndpointRequest
)
ENDPOINTS_ROTATE_SECRET: Final = Operation(
    "POST",
    "/webhooks/endpoints/{id}/rotate-secret",
    models.EndpointWithSecret,
    body=requests.RotateSecretRequest,
    with_key=True,
)
ENDPOINTS_PING: Final = Operation("POST", "/webhooks/endpoints/{id}/ping", models.Delivery, with_key=True)
ENDPOINTS_RECOVER: Final = Operation(
    "POST", "/webhooks/endpoints/{id}/recover", models.BulkResult, body=requests.RecoverEndpointRequest
)
ENDPOINTS_REPLAY: Final = Operation(
    "POST", "/webhooks/endpoints/{id}/replay", models.ReplayResult, body=requests.ReplayMessagesRequest, with_key=True
)
DELIVERIES_LIST: Final = Operation(
    "GET", "/webhooks/deliveries", Page[models.Delivery], query=requests.DeliveriesListPage, with_commas=("ids",)
)
DELIVERIES_GET: Final = Operation("GET", "/webhooks/deliveries/{id}", models.DeliveryDetail)
DELIVERIES_ATTEMPTS: Final = Operation(
    "GET", "/webhooks/deliveries/{id}/attempts", Page[models.DeliveryAttempt], query=requests.DeliveriesAttemptsPage
)
DELIVERIES_WHY: Final = Operation("GET", "/webhooks/deliveries/{id}/why", list[models.DeliveryReason])
DELIVERIES_RETRY: Final = Operation("POST", "/webhooks/deliveries/{id}/retry", models.Delivery)
DELIVERIES_CANCEL: Final = Operation("POST", "/webhooks/deliveries/{id}/cancel", models.Delivery)
DELIVERIES_COUNTS: Final = Operation(
    "GET",
    "/webhooks/deliveries/counts",
    list[models.StatusCount],
    query=requests.DeliveriesCountsQuery,
    with_commas=("ids",),
)
DELIVERIES_RETRY_MANY: Final = Operation(
    "POST", "/webhooks/deliveries/retry", models.BulkResult, body=requests.ChangeDeliveriesRequest
)
DELIVERIES_CANCEL_MANY: Final = Operation(
    "POST", "/webhooks/deliveries/cancel", models.BulkResult, body=requests.ChangeDeliveriesRequest
)
DELIVERIES_CAUSED: Final = Operation(
    "GET",
    "/webhooks/transactions",
    list[models.CausedDeliveries],
    query=requests.DeliveriesCausedQuery,
    with_commas=("ids",),
)
DELIVERIES_REQUEST: Final = Operation("GET", "/webhooks/deliveries/{id}/request", models.DeliveryPost)
MESSAGES_LIST: Final = Operation(
    "GET", "/webhooks/messages", Page[models.Message], query=requests.MessagesListPage, with_commas=("ids",)
)
MESSAGES_SEARCH_KEYS: Final = Operation("GET", "/webhooks/search-keys", Page[models.SearchKey])
MESSAGES_GET: Final = Operation("GET", "/webhooks/messages/{id}", models.MessageWithDeliveries)
MESSAGES_TRY_FILTER: Final = Operation(
    "GET", "/webhooks/filter-trial", Page[models.TriedMessage], query=requests.MessagesTryFilterQuery
)
EVENT_TYPES_LIST: Final = Operation("GET", "/webhooks/event-types", Page[models.EventType])
EVENTS_SEND: Final = Operation(
    "POST", "/webhooks/events", models.SentEvent, body=requests.SendEventRequest, with_key=True
)
TRAFFIC_GET: Final = Operation("GET", "/webhooks/stats", models.Traffic, query=requests.TrafficGetQuery)
BACKLOG_GET: Final = Operation("GET", "/webhooks/backlog", models.QueueState)
ENDPOINTS_ACTIVITY: Final = Operation(
    "GET",
    "/webhooks/endpoints/activity",
    list[models.EndpointActivity],
    query=requests.EndpointsActivityQuery,
    with_commas=("ids",),
)
DELIVERIES_VALUES: Final = Operation(
    "GET", "/webhooks/values", models.FilterValues, query=requests.DeliveriesValuesQuery
)
PORTAL_SESSIONS_LIST: Final = Operation("GET", "/webhooks/portal-sessions", models.PendingPortalLinks)
PORTAL_SESSIONS_CREATE: Final = Operation(
    "POST",
    "/webhooks/portal-sessions",
    models.CreatedPortalLink,
    body=requests.CreatePortalSessionRequest,
    with_key=True,
)
PORTAL_SESSIONS_GET: Final = Operation("GET", "/webhooks/portal-sessions/{id}", models.PortalLink)
PORTAL_SESSIONS_REVOKE: Final = Operation("DELETE", "/webhooks/portal-sessions/{id}", NoneType)
TENANTS_LIST: Final = Operation("GET", "/tenant/tenants", Page[models.Tenant], query=requests.TenantsListPage)
TENANTS_CREATE: Final = Operation(
    "POST", "/tenant/tenants", models.Tenant, body=requests.CreateTenantRequest, with_key=True
)
TENANTS_GET: Final = Operation("GET", "/tenant/tenants/{id}", models.Tenant)
TENANTS_UPDATE: Final = Operation("PATCH", "/tenant/tenants/{id}", models.Tenant, body=requests.UpdateTenantRequest)
TENANTS_DELETE: Final = Operation("DELETE", "/tenant/tenants/{id}", NoneType)
TENANTS_USE: Final = Operation("GET", "/tenant/use", models.TenantUses, query=requests.TenantsUseQuery)
TENANTS_LIST_UNLISTED: Final = Operation("GET", "/tenant/unlisted", models.UnlistedTenants)
