"""The way from a reference to the posterior: legs, ladders, and how long the way is."""
