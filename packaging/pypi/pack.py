"""Packs clitape for PyPI: `python3 packaging/pypi/pack.py OUT PLATFORM=BINARY…`, with a platform such as
manylinux2014_x86_64. Writes into OUT a wheel for each platform, which has the program and no code of Python.

maturin would build the program again, with other bytes than those of the archives, so that this packs the ready one.
"""

import base64
import hashlib
import json
import pathlib
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LICENSES = ["LICENSE-MIT", "LICENSE-APACHE"]


def printed(script):
    """Returns what a script of `packaging` prints; it prints nothing where the repository has no address yet."""
    return subprocess.run([HERE.parent / script], capture_output=True, text=True, check=False).stdout.strip()


def metadata(version):
    """Returns the METADATA of the package; npm's has what both say."""
    about = json.loads((HERE.parent / "npm/package.json").read_text(encoding="utf-8"))
    fields = {
        "Metadata-Version": "2.4",
        "Name": about["name"],
        "Version": version,
        "Summary": about["description"],
        "Keywords": ",".join(about["keywords"]),
        "License-Expression": about["license"],
        "Requires-Python": ">=3.8",
        "Description-Content-Type": "text/markdown",
    }
    lines = [f"{name}: {value}" for name, value in fields.items()]
    lines += [f"License-File: {name}" for name in LICENSES]
    address = printed("repository")
    lines += [f"Project-URL: Repository, {address}"] if address else []
    return "\n".join(lines) + "\n\n" + (ROOT / "README.md").read_text(encoding="utf-8")


def contents(version, platforms, binary):
    """Returns the files of a wheel: the place, the bytes and the mode of each."""
    info = f"clitape-{version}.dist-info"
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in platforms.split("."))
    wheel = f"Wheel-Version: 1.0\nGenerator: clitape\nRoot-Is-Purelib: false\n{tags}"
    files = [(f"clitape-{version}.data/scripts/clitape", binary, 0o755)]
    files += [(f"{info}/METADATA", metadata(version).encode(), 0o644)]
    files += [(f"{info}/WHEEL", wheel.encode(), 0o644)]
    files += [(f"{info}/licenses/{name}", (ROOT / name).read_bytes(), 0o644) for name in LICENSES]
    record = ""
    for place, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{place},sha256={digest},{len(data)}\n"
    record += f"{info}/RECORD,,\n"
    return files + [(f"{info}/RECORD", record.encode(), 0o644)]


def main():
    """Packs the programs that the arguments name."""
    out, programs = sys.argv[1:2], [word.partition("=") for word in sys.argv[2:]]
    if not programs or not all(platform and path for platform, _, path in programs):
        sys.exit("usage: python3 packaging/pypi/pack.py OUT PLATFORM=BINARY…")
    out = pathlib.Path(out[0])
    out.mkdir(parents=True, exist_ok=True)
    version = printed("version")
    for platforms, _, path in programs:
        wheel = out / f"clitape-{version}-py3-none-{platforms}.whl"
        with zipfile.ZipFile(wheel, "w") as packed:
            for place, data, mode in contents(version, platforms, pathlib.Path(path).read_bytes()):
                # Without a time, so that the same files make the same bytes.
                entry = zipfile.ZipInfo(place)
                entry.external_attr = (0o100000 | mode) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(entry, data)
        print(wheel.resolve())


main()
