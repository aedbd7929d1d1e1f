"""Thin entry points: words on a command line in, exit codes and text out. Decisions live in other rooms."""
