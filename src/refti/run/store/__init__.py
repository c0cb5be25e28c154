"""The run directory: what a run is, all that it has computed, and its result."""
