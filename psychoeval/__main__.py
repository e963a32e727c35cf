"""`python -m psychoeval` is the command `psychoeval`."""

from psychoeval.cli import main

if __name__ == "__main__":
    main()
