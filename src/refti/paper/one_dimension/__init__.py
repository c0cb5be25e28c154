"""The paper's 1-D example: a cusp on a quartic."""
