"""`python -m tiercut`: the same as the command `tiercut`."""

from tiercut.cli import main

main()
