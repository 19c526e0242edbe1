"""Prices: the one table that all figures of cost come from. List prices on demand, us-east-1, in dollars.

They are typed in from the pages that `source` names; nothing looks them up. When you change one, change `AS_OF`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

AS_OF = "November 2026"
HOURS_A_MONTH = 730.0
SECONDS_A_MONTH = HOURS_A_MONTH * 3600


@dataclass(frozen=True, slots=True)
class Price:
    """dollars: for one unit."""

    what: str
    dollars: float
    unit: str
    source: str


_LAMBDA = "https://aws.amazon.com/lambda/pricing/"
_API = "https://aws.amazon.com/api-gateway/pricing/"
_DYNAMODB = "https://aws.amazon.com/dynamodb/pricing/on-demand/"
_CLOUDWATCH = "https://aws.amazon.com/cloudwatch/pricing/"
_FARGATE = "https://aws.amazon.com/fargate/pricing/"

LAMBDA_REQUEST = Price("Lambda, requests", 0.20 / 1e6, "request", _LAMBDA)
LAMBDA_GB_SECOND: Mapping[str, Price] = {
    "arm64": Price("Lambda, duration on arm64", 0.0000133334, "GB-second", _LAMBDA),
    "x86_64": Price("Lambda, duration on x86_64", 0.0000166667, "GB-second", _LAMBDA),
}
API_REQUEST = Price("HTTP API, requests of up to 512 KB", 1.00 / 1e6, "request", _API)
WRITE_UNIT = Price("DynamoDB, write units on demand", 0.625 / 1e6, "unit", _DYNAMODB)
READ_UNIT = Price("DynamoDB, read units on demand", 0.125 / 1e6, "unit", _DYNAMODB)
STORAGE_GB = Price("DynamoDB, storage", 0.25, "GB and month", _DYNAMODB)
LOG_GB = Price("CloudWatch Logs, ingestion", 0.50, "GB", _CLOUDWATCH)
METRIC = Price("CloudWatch, custom metrics", 0.30, "metric and month", _CLOUDWATCH)
ALARM = Price("CloudWatch, alarms", 0.10, "alarm and month", _CLOUDWATCH)
DASHBOARD = Price("CloudWatch, dashboards", 3.00, "dashboard and month", _CLOUDWATCH)
CLOUDWATCH_REQUEST = Price("CloudWatch, PutMetricData", 0.01 / 1e3, "request", _CLOUDWATCH)
SCHEDULE = Price(
    "EventBridge Scheduler, invocations", 1.00 / 1e6, "invocation", "https://aws.amazon.com/eventbridge/pricing/"
)
SECRET = Price("Secrets Manager, secrets", 0.40, "secret and month", "https://aws.amazon.com/secrets-manager/pricing/")
EGRESS_GB = Price(
    "Data transfer to the internet", 0.09, "GB", "https://aws.amazon.com/ec2/pricing/on-demand/#Data_Transfer"
)
NAT_GB = Price("NAT gateway, processed data", 0.045, "GB", "https://aws.amazon.com/vpc/pricing/")
FARGATE_VCPU_HOUR = Price("Fargate, vCPU on arm64", 0.03238, "vCPU and hour", _FARGATE)
FARGATE_GB_HOUR = Price("Fargate, memory on arm64", 0.00356, "GB and hour", _FARGATE)
T4G_SMALL_HOUR = Price("EC2, t4g.small", 0.0168, "hour", "https://aws.amazon.com/ec2/pricing/on-demand/")

ALL = (
    LAMBDA_REQUEST,
    *LAMBDA_GB_SECOND.values(),
    API_REQUEST,
    WRITE_UNIT,
    READ_UNIT,
    STORAGE_GB,
    LOG_GB,
    METRIC,
    ALARM,
    DASHBOARD,
    CLOUDWATCH_REQUEST,
    SCHEDULE,
    SECRET,
    EGRESS_GB,
    NAT_GB,
    FARGATE_VCPU_HOUR,
    FARGATE_GB_HOUR,
    T4G_SMALL_HOUR,
)
