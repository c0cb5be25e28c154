"""Any Python function as a model, known by its values alone."""
