// A client of the answers that tests/bench/compressed_answers.py measures.
module answerclient

go 1.26.0
