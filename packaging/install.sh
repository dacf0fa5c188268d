#!/bin/sh
# Installs the program of clitape for this machine, without a package manager and without root:
#
#     curl -fsSL ADDRESS/releases/latest/download/install.sh | sh
#     curl -fsSL ADDRESS/releases/latest/download/install.sh | sh -s -- --version 0.1.0 --to ~/bin
#
# --to DIR        the folder that gets the program [default: ~/.local/bin]
# --version V     a release other than the newest
# --from URL      a folder with the files of a release, also file:///…
#
# It downloads one archive, compares it with SHA256SUMS, and writes one file. Nothing runs before the sum is right.
set -eu

# The address of the repository, which `packaging/pack` writes here.
repository=

fail() {
    echo "error: $1" >&2
    exit "${2:-1}"
}

# Prints the target whose program runs here.
target() {
    system=$(uname -s) machine=$(uname -m)
    case $system in
    Linux) system=unknown-linux-gnu ;;
    Darwin) system=apple-darwin ;;
    MINGW* | MSYS* | CYGWIN* | Windows*)
        fail "clitape does not run on Windows; set up WSL2 (\`wsl --install\`), and install it there"
        ;;
    *) fail "there is no clitape for $system; there is one for Linux and macOS" ;;
    esac
    case $machine in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no program for $machine; build it with \`cargo install --locked clitape\`" ;;
    esac
    if [ "$system" = unknown-linux-gnu ] && ldd --version 2>&1 | grep -qi musl; then
        fail "the program needs glibc, and this system has musl; build it with \`cargo install --locked clitape\`"
    fi
    echo "$machine-$system"
}

# Puts the file $2 of the release at $1 into the folder $3.
get() {
    case $1 in
    file://*) cp "${1#file://}/$2" "$3/$2" || fail "$1 has no $2" ;;
    https://*)
        if command -v curl >/dev/null 2>&1; then
            curl -fsSL --retry 3 -o "$3/$2" "$1/$2" || fail "$1/$2 can't be downloaded"
        elif command -v wget >/dev/null 2>&1; then
            wget -q -O "$3/$2" "$1/$2" || fail "$1/$2 can't be downloaded"
        else
            fail "there is neither curl nor wget to download with"
        fi
        ;;
    *) fail "$1 is neither https:// nor file://" 2 ;;
    esac
}

# Prints the SHA-256 of a file.
sum() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1" | cut -c 1-64
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 "$1" | cut -c 1-64
    else
        fail "there is neither sha256sum nor shasum, so that the download can't be checked"
    fi
}

# A function, so that a script whose download broke off does nothing.
main() {
    to=${HOME:-}/.local/bin
    version=
    from=
    while [ $# -gt 0 ]; do
        case $1 in
        --to | --version | --from) [ $# -ge 2 ] || fail "$1 needs a value" 2 ;;
        *) fail "the installer has no $1; it has --to DIR, --version V and --from URL" 2 ;;
        esac
        case $1 in
        --to) to=$2 ;;
        --version) version=${2#v} ;;
        --from) from=${2%/} ;;
        esac
        shift 2
    done
    name=clitape-$(target)
    if [ -z "$from" ]; then
        [ -n "$repository" ] || fail "this copy of the installer has no address; take that of a release, or use --from"
        from=$repository/releases/latest/download
        [ -z "$version" ] || from=$repository/releases/download/v$version
    fi

    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    get "$from" SHA256SUMS "$work"
    get "$from" "$name.tar.gz" "$work"
    expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz$/\1/p" "$work/SHA256SUMS")
    [ -n "$expected" ] || fail "SHA256SUMS of $from does not name $name.tar.gz"
    actual=$(sum "$work/$name.tar.gz")
    [ "$actual" = "$expected" ] || fail "$name.tar.gz is not what SHA256SUMS says: nothing was installed"

    tar -xzf "$work/$name.tar.gz" -C "$work"
    "$work/$name/clitape" --version >/dev/null || fail "the program does not run on this machine"
    mkdir -p "$to"
    to=$(cd "$to" && pwd)
    # A program that runs now keeps its file.
    cp "$work/$name/clitape" "$to/.clitape-new"
    chmod 755 "$to/.clitape-new"
    mv -f "$to/.clitape-new" "$to/clitape"
    echo "installed $("$to/clitape" --version) in $to"
    case :$PATH: in
    *":$to:"*) ;;
    *) echo "$to is not on PATH: add  export PATH=\"$to:\$PATH\"  to the profile of your shell" ;;
    esac
}

main "$@"
