"""The lease on an emulator that serves several clients at once, as DynamoDB does and moto does not."""
