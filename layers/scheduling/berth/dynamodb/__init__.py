"""What every table on DynamoDB has in common: what its errors mean."""
