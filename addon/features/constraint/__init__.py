"""The list of constraints, and the settings of the active one."""
