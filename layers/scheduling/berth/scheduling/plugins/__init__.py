"""The plugins: one module each, or a package if a plugin is long; `registry` maps names to plugins."""
