"""`python -m refti`: the command line, where the command itself is not on the path."""

from refti.cli import main

if __name__ == "__main__":
    main()
