"""What sampling leaves behind, in NumPy: all that estimators and checks need to know."""
