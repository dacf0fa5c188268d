"""Tries what a confined program must not do, and what it may do, and prints a line for each: its name and "done" or
"refused". tests/commands/confinement.rs has the table of what is expected of each way of confinement.

Arguments: a folder outside of the sandbox, a process of clitape, the port of a server that is not the model, the address
of the model, and a file that the program may read and the user may change. The file `terminal` has the path of the user's
terminal."""

import ctypes
import fcntl
import os
import socket
import sys

outside, clitape, port, model, readable = sys.argv[1:]
clitape, port = int(clitape), int(port)
terminal = open("terminal").read().strip()
libc = ctypes.CDLL(None, use_errno=True)
secret = outside + "/secret"
HERE = os.environ["HOME"]


def call(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def reach(*arguments, address=None):
    """Connects a socket of these arguments and reads what the server says."""
    connection = socket.socket(*arguments)
    connection.connect(address or ("127.0.0.1", port))
    return connection


def write(path):
    with open(path, "w") as file:
        file.write("x")


def fast_open():
    """A connection that begins with the first send."""
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    connection.sendto(b"x", 0x20000000, ("127.0.0.1", port))


def fast_open_message():
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    connection.sendmsg([b"x"], [], 0x20000000, ("127.0.0.1", port))


def inject(path):
    """Puts a byte into the input of a terminal."""
    opened = os.open(path, os.O_RDWR | os.O_NOCTTY)
    for byte in b"typed\n":
        fcntl.ioctl(opened, 0x5412, bytes([byte]))


def see_network():
    """Finds the server among the sockets of the network that the process is in."""
    if ":%04X " % port not in open("/proc/self/net/tcp").read():
        raise OSError("another network")


def own_times():
    write(HERE + "/times")
    os.chmod(HERE + "/times", 0o600)
    os.utime(HERE + "/times", (1, 1))


def two_ends():
    """A server in the sandbox and its client."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(HERE + "/socket")
    server.listen()
    socket.socket(socket.AF_UNIX).connect(HERE + "/socket")
    socket.socketpair()


def see_names():
    """Watches the names in a folder."""
    watch = call(libc.inotify_init())
    call(libc.inotify_add_watch(watch, outside.encode(), 0x100))


def device():
    """Makes a device of the machine: the terminal of the process."""
    os.mknod(HERE + "/terminal", 0o20600, os.makedev(5, 0))
    os.open(HERE + "/terminal", os.O_RDWR)


def x32():
    """Makes a socket by the number that the call has in the x32 ABI."""
    call(libc.syscall(0x40000000 | 41, 16, 3, 0))


tries = {
    "write a file outside": lambda: write(outside + "/new"),
    "read a file outside": lambda: open(secret).read(),
    "read a file by clitape's root": lambda: open(f"/proc/{clitape}/root{secret}").read(),
    "look at a file outside": lambda: os.stat(secret),
    "list a folder outside": lambda: os.listdir(outside),
    "watch a folder outside": see_names,
    "change the mode outside": lambda: os.chmod(secret, 0o644),
    "change the mode of what it reads": lambda: os.chmod(readable, 0o755),
    "change the mode of an open file": lambda: os.chmod(os.open(readable, os.O_RDONLY), 0o755),
    "change the owner outside": lambda: os.chown(secret, os.getuid(), -1),
    "change the times outside": lambda: os.utime(secret, (0, 0)),
    "set an attribute outside": lambda: os.setxattr(secret, "user.x", b"x"),
    "cut a file outside": lambda: os.truncate(secret, 0),
    "move a file outside": lambda: os.rename(secret, outside + "/moved"),
    "reach a socket outside by its path": lambda: reach(socket.AF_UNIX, address=outside + "/socket"),
    "reach a socket without a path": lambda: reach(socket.AF_UNIX, address="\0clitape-test-" + str(port)),
    "open the terminal": lambda: os.open("/dev/tty", os.O_RDWR),
    "type into the terminal": lambda: inject("/dev/tty"),
    "type into a terminal by number": lambda: inject(terminal),
    "read an open file of the shell": lambda: os.read(9, 1),
    "make a device": device,
    "see the network of the machine": see_network,
    "connect by TCP": lambda: reach(socket.AF_INET, socket.SOCK_STREAM),
    "connect by MPTCP": lambda: reach(socket.AF_INET, socket.SOCK_STREAM, 262),
    "connect by fast open": fast_open,
    "connect by a fast message": fast_open_message,
    "make a UDP socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "make an ICMP socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1),
    "make a raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 255),
    "make a netlink socket": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "make a socket of a virtual machine": lambda: socket.socket(40, socket.SOCK_STREAM),
    "make a socket of the kernel's ciphers": lambda: socket.socket(38, socket.SOCK_SEQPACKET),
    "make a socket by another ABI": x32,
    "start a ring of requests": lambda: call(libc.syscall(425, 4, ctypes.create_string_buffer(120))),
    "make shared memory that stays": lambda: call(libc.shmget(0x636c, 4096, 0o1600)),
    "make a queue that stays": lambda: call(libc.msgget(0x636c, 0o1600)),
    "make a semaphore that stays": lambda: call(libc.semget(0x636c, 1, 0o1600)),
    "add a key": lambda: call(libc.syscall(248, b"user", b"clitape", b"x", 1, -4)),
    "signal clitape": lambda: os.kill(clitape, 0),
    "trace clitape": lambda: call(libc.ptrace(0x4206, clitape, None, None)),
    "read the environment of clitape": lambda: open("/proc/%d/environ" % clitape).read(1),
    "list the folder that clitape is in": lambda: os.listdir(f"/proc/{clitape}/cwd"),
    "see the open files of clitape": lambda: os.readlink(f"/proc/{clitape}/fd/0"),
    "set the priority of clitape": lambda: os.setpriority(os.PRIO_PROCESS, clitape, os.getpriority(os.PRIO_PROCESS, clitape)),
    "set the priority of the user": lambda: os.setpriority(os.PRIO_USER, os.getuid(), os.getpriority(os.PRIO_PROCESS, 0)),
    "choose the processor of clitape": lambda: os.sched_setaffinity(clitape, os.sched_getaffinity(clitape)),
    "limit clitape": lambda: call(libc.prlimit(clitape, 7, None, ctypes.byref((ctypes.c_uint64 * 2)()))),
    "mount": lambda: call(libc.mount(b"none", HERE.encode(), b"tmpfs", 0, None)),
    "write a file of its own": lambda: write(HERE + "/own"),
    "change mode and times of its own": own_times,
    "connect to the model": lambda: reach(socket.AF_INET, socket.SOCK_STREAM, address=("127.0.0.1", int(model.rsplit(":", 1)[1]))),
    "use a socket of its own": two_ends,
    "set the priority of itself": lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0)),
    "limit itself": lambda: call(libc.prlimit(0, 7, None, ctypes.byref((ctypes.c_uint64 * 2)()))),
}

for name, attempt in tries.items():
    try:
        attempt()
        print(f"{name}: done", flush=True)
    except OSError as error:
        print(f"{name}: refused", flush=True)
        print(f"{name}: {error}", file=sys.stderr)
