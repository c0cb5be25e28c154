"""Where work runs: in this process, in others of this machine, on a cluster."""
