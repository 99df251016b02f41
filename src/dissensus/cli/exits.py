"""Exit codes, beside 0 for done."""

FAILED = 1  # a run did
MISTAKE = 2  # in what was given
LEFT = 3  # the budget is used up; the same command goes on
STOPPED, TERMINATED = 130, 143  # what shells say of Ctrl-C, and of SIGTERM
