"""Where the posterior is: what must hold of a model, its modes, and whether it falls away."""
