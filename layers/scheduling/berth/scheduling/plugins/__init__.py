"""The plugins: a module for each plugin, or a package if it is long; `registry` maps names to plugins."""
