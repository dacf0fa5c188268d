"""Lets a Python program reach the chat server as api.telegram.org, and no other machine.

Python imports this module at its start, because clitape puts its folder first into PYTHONPATH. It serves libraries that
take no proxy and no authority from the environment, such as aiohttp and aiogram, without a change of their files. Other
hosts than this machine are refused and told to clitape's proxy. The module of the same name that would have been
imported without this one is imported as well.
"""

import importlib.machinery
import importlib.util
import json
import os
import socket
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(FOLDER, "reach.json"), encoding="utf-8") as file:
    REACH = json.load(file)
BOT_API = REACH["name"]
# An address that no program uses. It stands for the Bot API until a connection is made, since some libraries look the
# name up first and then connect to the address with the port of the URL.
STANDS_FOR_IT = "127.84.71.66"
INTERNET = (socket.AF_INET, socket.AF_INET6)

plain_connect = socket.socket.connect
plain_connect_ex = socket.socket.connect_ex
plain_sendto = socket.socket.sendto
plain_sendmsg = getattr(socket.socket, "sendmsg", None)
plain_getaddrinfo = socket.getaddrinfo
plain_gethostbyname = socket.gethostbyname
plain_gethostbyname_ex = socket.gethostbyname_ex
plain_gethostbyaddr = socket.gethostbyaddr
plain_getnameinfo = socket.getnameinfo


def text(host):
    if isinstance(host, (bytes, bytearray)):
        host = bytes(host).decode("ascii", "replace")
    return host.rstrip(".").lower() if isinstance(host, str) else host


def is_address(host):
    for family in INTERNET:
        try:
            socket.inet_pton(family, host.split("%")[0])
            return True
        except OSError:
            pass
    return False


def is_here(host):
    """Whether a host is this machine, or none."""
    if host in (None, "", "localhost", "::1", "::", "0.0.0.0", "<broadcast>"):
        return True
    return is_address(host) and host.startswith(("127.", "::ffff:127."))


def refuse(host, port):
    """Tells the proxy which host was asked for: it refuses and lists it."""
    name = "[%s]" % host if ":" in host else host
    name = "".join(c if c.isalnum() or c in "-._:[]" else "_" for c in name) or "_"
    target = "%s:%s" % (name.encode("ascii", "replace").decode().replace("?", "_"), port if isinstance(port, int) and port else 443)
    teller = socket.socket()
    try:
        teller.settimeout(5)
        plain_connect(teller, ("127.0.0.1", REACH["proxy"]))
        teller.sendall(("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target)).encode())
        teller.recv(1)
    except OSError:
        pass
    finally:
        teller.close()


def looked_up(host, port=None):
    """Returns the name or the address that is looked up in place of a host."""
    name = text(host)
    if name == BOT_API:
        return STANDS_FOR_IT
    if not isinstance(name, str) or is_here(name) or is_address(name):
        return host
    if name == socket.gethostname().lower():
        return "127.0.0.1"
    refuse(name, port)
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known (clitape refuses %s)" % name)


def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
    return plain_getaddrinfo(looked_up(host, port), port, family, type, proto, flags)


def gethostbyname(host):
    return plain_gethostbyname(looked_up(host))


def gethostbyname_ex(host):
    return plain_gethostbyname_ex(looked_up(host))


def gethostbyaddr(host):
    if not is_here(looked_up(host)):
        raise socket.herror(1, "Unknown host")
    return plain_gethostbyaddr(host)


def getnameinfo(address, flags):
    if not is_here(text(address[0])):
        flags |= socket.NI_NUMERICHOST
    return plain_getnameinfo(address, flags)


def reached(self, address):
    """Returns the address that is reached in place of another one; an error refuses it."""
    if self.family not in INTERNET or not isinstance(address, tuple) or len(address) < 2:
        return address
    name = text(address[0])
    if name in (BOT_API, STANDS_FOR_IT):
        return ("127.0.0.1", REACH["bot_api"])
    if is_here(name):
        return address
    if not is_address(name):
        return (looked_up(name, address[1]),) + address[1:]
    refuse(name, address[1])
    raise ConnectionRefusedError(111, "Connection refused (clitape refuses %s)" % name)


def connect(self, address):
    return plain_connect(self, reached(self, address))


def connect_ex(self, address):
    try:
        address = reached(self, address)
    except OSError as error:
        return error.errno
    return plain_connect_ex(self, address)


def sendto(self, data, *arguments):
    if arguments:
        reached(self, arguments[-1])
    return plain_sendto(self, data, *arguments)


def sendmsg(self, buffers, ancdata=(), flags=0, address=None):
    if address is None:
        return plain_sendmsg(self, buffers, ancdata, flags)
    reached(self, address)
    return plain_sendmsg(self, buffers, ancdata, flags, address)


def trusting(wrap):
    """Lets each context trust the authority of the run for the Bot API, whichever authorities it was made with."""

    def trusts(self, *arguments, **named):
        if any(isinstance(it, (str, bytes)) and text(it) == BOT_API for it in (*arguments, *named.values())):
            self.load_verify_locations(cafile=REACH["ca"])
        return wrap(self, *arguments, **named)

    return trusts


class PlainPython:
    """Keeps away what looks names up or connects without the module `socket`: aiohttp looks names up by itself
    without aiodns, and uvloop's loops become those of asyncio."""

    def find_spec(self, name, path=None, target=None):
        if name in ("aiodns", "pycares"):
            raise ModuleNotFoundError("clitape keeps %s away" % name, name=name)
        return importlib.machinery.ModuleSpec(name, self) if name == "uvloop" else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        import asyncio

        module.__version__ = "0.0.0"
        module.Loop = asyncio.SelectorEventLoop
        module.new_event_loop = asyncio.SelectorEventLoop
        module.run = asyncio.run
        module.install = lambda: None
        module.EventLoopPolicy = getattr(asyncio, "DefaultEventLoopPolicy", object)


def import_the_other_one():
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


for function in (getaddrinfo, gethostbyname, gethostbyname_ex, gethostbyaddr, getnameinfo):
    setattr(socket, function.__name__, function)
for function in (connect, connect_ex, sendto):
    setattr(socket.socket, function.__name__, function)
if plain_sendmsg is not None:
    socket.socket.sendmsg = sendmsg
try:
    import ssl
except ImportError:
    pass
else:
    ssl.SSLContext.wrap_socket = trusting(ssl.SSLContext.wrap_socket)
    ssl.SSLContext.wrap_bio = trusting(ssl.SSLContext.wrap_bio)
sys.meta_path.insert(0, PlainPython())
import_the_other_one()
