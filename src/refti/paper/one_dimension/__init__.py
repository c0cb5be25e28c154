"""The paper's 1-D example, and its figure on densities that drift from their reference."""
