"""What must hold for an estimate to be trusted."""
