echo "checking the disk"
echo "selftest: disk is not writable" >&2
exit 3
