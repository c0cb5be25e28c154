"""One run: from settings over the pilot and the plan through rounds of sampling to the result."""
