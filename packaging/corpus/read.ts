import { readFileSync } from "node:fs";

let finalText = null;
for (const line of readFileSync(process.argv[2], "utf8").split("\n")) {
  let record;
  try {
    record = JSON.parse(line);
  } catch {} // a line of a log, or half of a record
  if (record?.type === "result") finalText = (record.result ?? "").trim();
}
console.log(JSON.stringify(finalText));
