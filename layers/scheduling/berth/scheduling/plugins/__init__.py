"""One module per plugin, a package where it filters and scores at length; `registry` maps their names to them."""
