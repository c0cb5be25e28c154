"""Garbage is looked for seldom, as in the tests: JAX makes millions of objects in tracing."""

import gc

gc.set_threshold(500_000, 10, 10)
