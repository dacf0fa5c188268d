//! Tests that `schemas/corpus.json` describes every JSON file of a corpus, and `schemas/trace.json` its events.

use std::path::Path;

use serde_json::Value;

use super::fits;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn every_file_of_a_corpus_fits_its_schema() {
    let scenarios = ["three-tools", "ask-user", "resume-killed-mid-tool", "api-400", "unicode"];
    let dir = super::common::workspace(&scenarios);
    super::common::check(dir.path(), &["--quiet", "corpus", "--out", "corpus"], 0, &[], &[]);
    let corpus = dir.path().join("corpus");
    let text = |path: &Path| std::fs::read_to_string(path).expect("a readable file");
    let schema = json(&text(&corpus.join("schema/corpus.json")));
    let trace = json(&text(&corpus.join("schema/trace.json")));
    let check = |path: &Path, value: &Value, schema: &Value, root: &Value| {
        fits(value, schema, root).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    };
    let mut seen = [0; 4];
    for path in super::common::files(&corpus, "") {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = ["index.json", "reading.json", "mutated.json"].iter().position(|it| *it == name);
        if let Some(kind) = kind {
            let of_kind = &schema["$defs"][name.trim_end_matches(".json")];
            check(&path, &json(&text(&path)), of_kind, &schema);
            seen[kind] += 1;
        } else if name.starts_with("events") {
            for line in text(&path).lines() {
                check(&path, &json(line), &trace["$defs"]["lifecycle"], &trace);
                seen[3] += 1;
            }
        }
    }
    assert!(seen[0] == 1 && seen[1] > 10 && seen[2] > 10 && seen[3] > 300, "{seen:?}");
    let mut wrong = json(&text(&corpus.join("recordings/unicode/2.1.329/reading.json")));
    wrong["runs"][0]["usage"]["sum"] = 1.into();
    assert!(fits(&wrong, &schema["$defs"]["reading"], &schema).is_err());
}
