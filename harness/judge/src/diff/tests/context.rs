use crate::diff::*;

#[test]
fn what_came_in_stands_beside_what_was_seen() {
    let entry = |line: &str| serde_json::from_str::<Entry>(line).unwrap();
    let text = |at: u64| {
        let data = format!(r#"{{"message_id":"m","delta":"{at}"}}"#);
        entry(&format!(r#"{{"at":{at},"lane":"lifecycle","kind":"text","data":{data}}}"#))
    };
    let said = |at: u64, text: &str| {
        let data = format!(r#"{{"message_id":1,"text":"{text}"}}"#);
        entry(&format!(r#"{{"at":{at},"lane":"telegram","kind":"sendMessage","data":{data}}}"#))
    };
    let long = "a long text of which the end is what matters most";
    let mut refused = said(3, long);
    refused.data_mut().insert("refused".into(), "Bad Request: chat not found".into());
    let entries = [text(1), said(1, "a"), text(2), text(3), refused, text(4)];
    let shown: Vec<String> = context(&entries, Lane::Telegram, Some(3))
        .iter()
        .map(|moment| format!("{} {:?} {:?}", moment.at, moment.input, moment.output))
        .collect();
    assert_eq!(
        shown,
        [
            r#"1 ["text \"1\""] ["sendMessage #1 \"a\""]"#,
            r#"2 ["text \"2\""] []"#,
            r#"3 ["text \"3\""] ["sendMessage #1 \"…f which the end is what matters most\"", "  → refused: Bad Request: chat not found"]"#,
        ]
    );
}
