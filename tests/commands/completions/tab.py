"""Types a line into a shell on a terminal of its own, waits until it has run, and ends the shell.

Arguments: the line, a file that is there once the line has run, the shell and its arguments. The shell's prompt is READY."""

import os
import pty
import select
import sys
import time

typed, ran, *command = sys.argv[1:]
END = time.monotonic() + 60
child, terminal = pty.fork()
if child == 0:
    os.execvp(command[0], command)
# A shell that ends reads no more, so that a write would wait for ever.
os.set_blocking(terminal, False)


def read_until(is_done, each=lambda: None):
    """Reads what the shell prints until that is done; ends the test if the time is over."""
    printed = b""
    while not is_done(printed):
        each()
        if time.monotonic() > END:
            sys.exit(f"nothing came after {printed!r}")
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                printed += os.read(terminal, 65536)
            except OSError:  # Linux ends a terminal without a process by an error.
                pass
    return printed


def end_input():
    """Writes a Ctrl-D, unless those before are not read yet."""
    try:
        os.write(terminal, b"\x04")
    except OSError:  # As above, too.
        pass


read_until(lambda printed: b"READY" in printed)
os.write(terminal, typed.encode())
read_until(lambda _: os.path.exists(ran))
# A Ctrl-D that comes while the line still runs is lost.
read_until(lambda _: os.waitpid(child, os.WNOHANG)[0], end_input)
