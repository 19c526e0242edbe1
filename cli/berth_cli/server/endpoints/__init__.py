"""The routes that exist only in `berth serve`: for operators and for Prometheus."""

from enum import StrEnum


class RequestOutcome(StrEnum):
    """The outcome of a request. BAD_REQUEST: the query is invalid. TABLE_UNAVAILABLE: the response lacks the state of
    the tables. LEDGER_UNAVAILABLE, CLUSTER_UNAVAILABLE: the table or the API server did not respond."""

    OK = "ok"
    BAD_REQUEST = "failure-bad-request"
    TABLE_UNAVAILABLE = "failure-table-unavailable"
    LEDGER_UNAVAILABLE = "failure-ledger-unavailable"
    CLUSTER_UNAVAILABLE = "failure-cluster-unavailable"
