"""A study: many models in one file, run on shared workers, kept in one folder, and ranked."""
