"""The configuration in force: the applied document, or the deployed document if there is no applied one."""
