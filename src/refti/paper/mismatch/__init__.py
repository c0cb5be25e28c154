"""The paper's figure on densities that do not match their reference."""
