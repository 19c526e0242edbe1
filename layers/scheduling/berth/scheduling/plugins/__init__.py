"""The plugins. Each module or package has one plugin, or a few related plugins. `registry` maps names to plugins."""
