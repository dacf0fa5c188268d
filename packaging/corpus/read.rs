use serde_json::Value;

fn final_text(stdout: &[u8]) -> Value {
    let mut final_text = Value::Null;
    for line in stdout.split(|byte| *byte == b'\n') {
        let record: Value = serde_json::from_slice(line).unwrap_or_default(); // null: a line of a log
        if record["type"] == "result" {
            final_text = record["result"].as_str().unwrap_or_default().trim().into();
        }
    }
    final_text
}

fn main() -> std::io::Result<()> {
    let file = std::env::args().nth(1).unwrap_or_default();
    println!("{}", final_text(&std::fs::read(file)?));
    Ok(())
}
