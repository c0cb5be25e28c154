"""Running: where a run is kept."""
