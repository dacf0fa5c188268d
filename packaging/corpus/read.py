import json, sys

final_text = None
for line in open(sys.argv[1], "rb"):
    try:
        record = json.loads(line)
    except ValueError:  # a line of a log, or half of a record
        continue
    if isinstance(record, dict) and record.get("type") == "result":
        final_text = (record.get("result") or "").strip()
print(json.dumps(final_text))
