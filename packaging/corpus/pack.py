"""Packs a corpus for PyPI: `python3 packaging/corpus/pack.py OUT CORPUS`, with a folder that `clitape corpus` wrote.

Writes OUT/clitape_corpus-VERSION-py3-none-any.whl, and prints its path. The package has data alone: `clitape_corpus.PATH`
is the folder with index.json. The same corpus gives the same bytes.
"""

import base64
import hashlib
import json
import pathlib
import sys
import zipfile

MODULE = '''"""The corpus of clitape: what the claude command prints as stream-json, with expected readings."""

import json
import pathlib

PATH = pathlib.Path(__file__).parent / "corpus"


def index():
    """Returns the list of the recordings."""
    return json.loads((PATH / "index.json").read_text(encoding="utf-8"))
'''
ABOUT = """Metadata-Version: 2.1
Name: clitape-corpus
Version: {version}
Summary: What the claude command prints as stream-json, with the expected reading of each recording.
License: CC0-1.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: clitape\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
EARLIEST = (1980, 1, 1, 0, 0, 0)


def files(corpus, about):
    """Yields the paths in the wheel with their bytes."""
    yield "clitape_corpus/__init__.py", MODULE.encode()
    for path in sorted(path for path in corpus.rglob("*") if path.is_file()):
        yield f"clitape_corpus/corpus/{path.relative_to(corpus).as_posix()}", path.read_bytes()
    yield f"{about}/METADATA", ABOUT.format(version=version, readme=(corpus / "README.md").read_text(encoding="utf-8")).encode()
    yield f"{about}/WHEEL", WHEEL.encode()
    yield f"{about}/LICENSE", (corpus / "LICENSE").read_bytes()


if len(sys.argv) != 3:
    sys.exit("usage: python3 packaging/corpus/pack.py OUT CORPUS")
out, corpus = map(pathlib.Path, sys.argv[1:])
version = json.loads((corpus / "index.json").read_text(encoding="utf-8"))["clitape"]
out.mkdir(parents=True, exist_ok=True)
wheel = out / f"clitape_corpus-{version}-py3-none-any.whl"
about = f"clitape_corpus-{version}.dist-info"
record = []
with zipfile.ZipFile(wheel, "w") as archive:

    def put(path, content):
        info = zipfile.ZipInfo(path, EARLIEST)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
        archive.writestr(info, content)

    for path, content in files(corpus, about):
        put(path, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}\n")
    put(f"{about}/RECORD", "".join(record) + f"{about}/RECORD,,\n")
print(wheel.resolve())
