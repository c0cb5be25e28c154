"""The paper's examples, written as a user of the public names would."""
