i=1
while [ $i -le 12 ]; do echo "error: module $i of the project needs a library that is not installed here" >&2; i=$((i + 1)); done
exit 2
