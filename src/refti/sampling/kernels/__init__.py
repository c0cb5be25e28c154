"""How chains move: a protocol, and one file a kernel."""
