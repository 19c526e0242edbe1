"""The cluster's state over DynamoDB, as the verbs have it: how fresh, under which configuration, made by the feed."""
