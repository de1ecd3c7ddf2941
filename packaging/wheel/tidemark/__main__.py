"""python -m tidemark: the same as the command."""

from ._launch import main

main()
