# Stands for a push that is refused: the error repeats an address with a password that is made up.
echo "fatal: Authentication failed for 'https://deploy:madeUp4Lp9Ok6Ij3Uh8Yg@git.example/release.git/'" >&2
exit 128
