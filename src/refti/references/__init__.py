"""Reference densities: each with its exact integral, exact draws and log density."""
