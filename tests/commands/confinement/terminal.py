"""Runs a command on a terminal of its own, as a person's shell does, and prints what it and the shell print.

Arguments: a file that gets the path of the terminal, a file that the shell passes on as number 9, the command. When the
command is over, the shell reads what was typed meanwhile."""

import os
import pty
import sys

written, passed_on, *command = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    with open(written, "w") as file:
        file.write(os.ttyname(0))
    shell = 'exec 9<"$0"; "$@"; echo "ended: $?"; read -r -t 1 line; echo "typed: <$line>"'
    os.execvp("bash", ["bash", "-c", shell, passed_on, *command])
while True:
    try:
        printed = os.read(terminal, 65536)
    except OSError:  # Linux ends a terminal without a process by an error.
        break
    if not printed:
        break
    sys.stdout.buffer.write(printed)
os.waitpid(child, 0)
