"""A `berth serve` that runs elsewhere, as far as its routes say what it knows. It is only asked, by GET."""
