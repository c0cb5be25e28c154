"""Radiata pine: two regressions whose evidences are known exactly."""
