"""Runs a command on a terminal of its own, as a person's shell does, types a text into it, and prints what it prints.

Arguments: the text, the command."""

import os
import pty
import sys

typed, *command = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    os.execvp(command[0], command)
os.write(terminal, typed.encode())
while True:
    try:
        printed = os.read(terminal, 65536)
    except OSError:  # Linux ends a terminal without a process by an error.
        break
    if not printed:
        break
    sys.stdout.buffer.write(printed)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
