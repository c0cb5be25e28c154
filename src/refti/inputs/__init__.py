"""Model inputs, one file a source: each makes a Model that the rest cannot tell apart."""
