"""The paper's 2-D example with a bounded parameter."""
