"""What a profile says of the nodes of a snapshot for pods of one shape: verdicts and scores, kept between calls."""
