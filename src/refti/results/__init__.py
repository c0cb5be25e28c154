"""What the user gets: a result with its verdict, and the comparison of several."""
