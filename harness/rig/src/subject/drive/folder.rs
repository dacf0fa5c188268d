//! Puts the recorded folder back into what a chat shows.
//!
//! The stand-in names the folder in which a gateway started it, because many gateways let an agent work in one folder
//! only. The rules compare a chat with the recording, which has another folder.

use std::path::Path;

use clitape_process::PREFIX;
use clitape_recording::cassette::canon::MachineFolder;
use clitape_recording::facts::texts_in;
use clitape_recording::trace::Entry;
use serde_json::Value;

/// The folder above the recorded ones.
const RECORDED_ROOT: &str = "/clitape";

/// Puts the recorded folder in the place of the folder in which the stand-in was started. A path that a gateway cuts
/// may have the temporary folder alone, whose name is another one in each run.
pub(super) fn put_back(entries: &mut [Entry], folder: &str) {
    let above = Path::new(folder).parent().filter(|above| {
        above.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
    });
    let above = above.and_then(Path::to_str);
    let mut places = vec![(folder, MachineFolder::Project.path())];
    places.extend(above.map(|above| (above, RECORDED_ROOT)));
    for entry in entries {
        let mut texts = entry.data.values().flat_map(texts_in);
        if texts.any(|text| places.iter().any(|(live, _)| text.contains(live))) {
            entry.data_mut().values_mut().for_each(|value| replace(value, &places));
        }
    }
}

fn replace(value: &mut Value, places: &[(&str, &str)]) {
    match value {
        Value::String(text) => {
            for (live, recorded) in places {
                if text.contains(live) {
                    *text = text.replace(live, recorded);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, places)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use clitape_recording::trace::Lane;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_chat_has_the_recorded_folder() {
        let check = |folder: &str, shown: &Value, expect: &Value| {
            let data = shown.as_object().unwrap().clone();
            let mut entries = [Entry::new(0, Lane::Telegram, "sendMessage", data)];
            put_back(&mut entries, folder);
            assert_eq!(entries[0].value(), *expect);
        };
        let run = "/tmp/clitape-a1B2c3/workspace";
        check(
            run,
            &json!({"text": format!("Read {run}/a.txt in {run}"), "buttons": [[format!("{run}/a")]], "message_id": 1}),
            &json!({"text": "Read /clitape/project/a.txt in /clitape/project", "buttons": [["/clitape/project/a"]], "message_id": 1}),
        );
        check(run, &json!({"text": "/tmp/clitape-a1B2c3/wor…"}), &json!({"text": "/clitape/wor…"}));
        check(
            "/srv/p",
            &json!({"text": "/srv/p/a, /srv"}),
            &json!({"text": "/clitape/project/a, /srv"}),
        );
    }
}
