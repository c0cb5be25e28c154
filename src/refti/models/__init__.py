"""What is integrated: a log density on unconstrained space, with the user's names and supports."""
