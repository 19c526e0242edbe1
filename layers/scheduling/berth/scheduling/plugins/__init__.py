"""The plugins: each module or package has one plugin or a few related ones; `registry` maps names to plugins."""
