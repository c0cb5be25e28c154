"""Factors of covariances in thousands of dimensions, in memory linear in the dimension."""
