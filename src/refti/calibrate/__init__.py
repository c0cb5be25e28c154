"""Proof by replicated runs: whether errors, model probabilities and verdicts are as they say."""
