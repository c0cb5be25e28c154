"""refti beside other programs on problems whose answers are known: `make bench`."""
