"""Posterior draws that exist already, in every format that people keep them in."""
