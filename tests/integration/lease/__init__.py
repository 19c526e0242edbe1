"""Tests of the lease on an emulator that serves clients concurrently, as DynamoDB does and moto does not."""
