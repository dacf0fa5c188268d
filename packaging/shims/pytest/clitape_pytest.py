"""A pytest plugin that plays recordings at a gateway with `clitape serve`.

Copy this file beside your tests, and write into conftest.py:

    pytest_plugins = ["clitape_pytest"]

and into pytest.ini, or into [tool.pytest.ini_options] of pyproject.toml:

    clitape_subject = my-gateway

A test takes the fixture `clitape`, and `chat = clitape.play("three-tools")` is what a person saw. The program is
CLITAPE_BIN, or else `clitape` on PATH. docs/test-runners.md of clitape has all fields of a chat.
"""

import json
import os
import subprocess
import tempfile
import threading

import pytest

PROTOCOL = 1  # the version of the protocol that this file speaks
WORDS = 2000  # the bytes of the program's stderr that an error shows


class ClitapeError(Exception):
    """An error of clitape. `kind` is `request`, `recording`, `subject`, `stopped` or `program`."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Finding(dict):
    """A finding; its text is the line that a person reads."""

    def __repr__(self):
        return f"{self['id']} {self['title']}: {self['message']} (reproduce: {self['reproduce']})"


class Chat:
    """What a person saw of a recording: `messages`, `final_text`, `calls`, `findings` and the other fields."""

    def __init__(self, answer):
        self.__dict__.update(answer)
        self.findings = [Finding(finding) for finding in answer["findings"]]

    def __repr__(self):
        return f"<chat of {self.recording}: {len(self.messages)} messages, {len(self.findings)} findings>"


class Clitape:
    """A running `clitape serve`. `with Clitape("my-gateway") as clitape:` ends it at the end."""

    def __init__(self, subject, root=None, program=None, args=()):
        self.program = program or os.environ.get("CLITAPE_BIN") or "clitape"
        self._words = tempfile.TemporaryFile()
        self._lock = threading.Lock()
        self._last = 0
        # A test is code of this project, so that whoever runs it has agreed to the subject: `--yes`.
        command = [self.program, "--quiet", "serve", "--json", "--yes", subject, *args]
        try:
            self._process = subprocess.Popen(
                command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._words, encoding="utf-8"
            )
        except FileNotFoundError:
            message = f"there is no program {self.program}; install clitape, or set CLITAPE_BIN to its path"
            raise ClitapeError("program", message) from None
        greeting = self._read()
        if greeting.get("protocol") != PROTOCOL:
            self.close()
            message = f"{self.program} speaks protocol {greeting.get('protocol')}, and this plugin {PROTOCOL}"
            raise ClitapeError("program", message + ": take both from one version of clitape")

    def play(self, scenario, **options):
        """Plays a recording, NAME or NAME/VERSION, with options such as `pace=200` or `chat_faults=["2:reset"]`."""
        with self._lock:
            self._last += 1
            request = {**options, "id": self._last, "play": scenario}
            try:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
            except OSError:
                pass  # the end of the program says more
            answer = self._read()
        if "error" in answer:
            raise ClitapeError(answer["error"]["kind"], answer["error"]["message"])
        return Chat(answer)

    def close(self):
        """Ends the program and all that it has started."""
        try:
            self._process.stdin.close()
        except OSError:
            pass  # it has ended
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()
        self._process.stdout.close()

    def _read(self):
        line = self._process.stdout.readline()
        try:
            return json.loads(line)
        except ValueError:
            pass
        if line:
            raise ClitapeError("program", f"{self.program} printed a line that is no JSON: {line[:200]}")
        code = self._process.wait()
        self._words.seek(max(0, self._words.seek(0, os.SEEK_END) - WORDS))
        words = self._words.read().decode("utf-8", "replace").strip()
        raise ClitapeError("program", f"{self.program} ended (exit code {code}):\n{words}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def pytest_addoption(parser):
    help_text = "the subject of clitape.toml that the fixture `clitape` plays recordings at"
    parser.addini("clitape_subject", help_text)
    parser.getgroup("clitape").addoption("--clitape-subject", metavar="NAME", help=help_text)


@pytest.fixture(scope="session")
def clitape(pytestconfig):
    """Plays recordings at the subject: `chat = clitape.play("three-tools")`."""
    subject = pytestconfig.getoption("--clitape-subject") or pytestconfig.getini("clitape_subject")
    if not subject:
        pytest.fail("which gateway? write `clitape_subject = NAME` into pytest.ini, or pass --clitape-subject NAME")
    with Clitape(subject, root=pytestconfig.rootpath) as running:
        yield running
