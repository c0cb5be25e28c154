"""How the studies of the paper tell what they found: tables, verdicts and pages."""
