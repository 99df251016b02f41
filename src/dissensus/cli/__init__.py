"""The command: ``dissensus demo | votes | train | predict | compare | diagnose | reproduce | report | runs | data``.

Every command prints what a person reads, or with ``--json`` what a program reads. Results go to standard output,
progress and notes to standard error. Exit codes: 0 done, 1 a run failed, 2 a mistake in what was given, 3 the budget is
used up and runs are left for the same command to go on with, 130 stopped by Ctrl-C, 143 by SIGTERM.

A file a command, and beside them what they share:

============ ===================================================================
``program``  all commands as one program, and how it ends
``exits``    exit codes
``options``  options that several commands have, each with its help
``given``    what the options say, as the library wants it
``reading``  how to read data, said by ``--option`` or by options as ``votes`` has them
``extras``   the extras that a command needs
``deadline`` a budget: when it is over, and what is said then
``sweeping`` carrying out plans: what to know before, and how it ended
``board``    their progress: a live table, or lines
``telling``  results on standard output, stages and notes on standard error
``tables``   tables in a terminal
``odd``      the table of annotators in ``votes``, the odd ones first
============ ===================================================================

``dissensus --help`` takes a quarter of a second: whatever is heavy is imported by the command that needs it, inside its
function.
"""

from __future__ import annotations

from dissensus.cli.program import main

__all__ = ["main"]
