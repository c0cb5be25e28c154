"""Sampling along a leg: kernels run side by side over rungs and chains."""
