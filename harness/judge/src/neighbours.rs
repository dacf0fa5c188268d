//! The words of all recordings that are played in one run, by which a person who reads what is another's is found.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use clitape_recording::facts::LazyFacts;
use clitape_recording::text::shown::letters;

use crate::words::FEW_LETTERS;

/// The number of letters in a row that are in two texts by chance only if both quote the same.
const WINDOW: usize = 2 * FEW_LETTERS;

/// The words of the model in each recording of a run: what it says, and what it asks tools to do.
#[derive(Debug, Default, PartialEq)]
pub struct RunWords {
    /// The recordings, in the order of the run.
    recordings: Vec<RecordingWords>,
    /// The first recording that has a window, by the hash of the window.
    windows: HashMap<u64, usize>,
}

#[derive(Debug, PartialEq)]
struct RecordingWords {
    name: String,
    /// The letters of each text.
    texts: Vec<String>,
}

impl RunWords {
    /// Gathers the words of recordings, each with its name.
    pub fn of<'f>(recordings: impl IntoIterator<Item = (String, &'f LazyFacts)>) -> Self {
        let mut words = Self::default();
        for (place, (name, facts)) in recordings.into_iter().enumerate() {
            let tools = facts.turn_facts().iter().flat_map(|turn| &turn.tools);
            let asked = tools.filter_map(|tool| tool.main_argument.as_deref()).map(letters);
            let texts: Vec<String> = facts.words().said.iter().cloned().chain(asked).collect();
            for window in texts.iter().flat_map(|text| windows(text)) {
                words.windows.entry(hash(window)).or_insert(place);
            }
            words.recordings.push(RecordingWords { name, texts });
        }
        words
    }

    /// Returns the words as those around the recording with a place in the run.
    pub fn around(self: &Arc<Self>, own: usize) -> Neighbours {
        Neighbours { run: self.clone(), own }
    }
}

/// The other recordings of the run in which one was played.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    run: Arc<RunWords>,
    /// The place of the recording that was played.
    own: usize,
}

impl Neighbours {
    /// Returns the runs of letters in a line that another recording has and that begin with a word, each with the name of
    /// that recording. `shown` are the letters of the line. A run that begins within a word may be the end of one word and
    /// the beginning of the next.
    pub(crate) fn words_in<'t>(
        &self,
        line: &str,
        shown: &'t str,
    ) -> impl Iterator<Item = (&str, &'t str)> {
        let words = line.split(|c: char| !c.is_alphanumeric()).map(letters);
        let starts: HashSet<usize> =
            words.scan(0, |end, word| Some(std::mem::replace(end, *end + word.len()))).collect();
        let begins_word =
            move |window: &&str| starts.contains(&(window.as_ptr().addr() - shown.as_ptr().addr()));
        windows(shown).filter(begins_word).filter_map(|window| {
            let place = *self.run.windows.get(&hash(window))?;
            let RecordingWords { name, texts } = &self.run.recordings[place];
            // Two windows may have the same hash.
            let is_there = place != self.own && texts.iter().any(|text| text.contains(window));
            is_there.then_some((name.as_str(), window))
        })
    }
}

/// Returns each part of a text that has [`WINDOW`] letters.
fn windows(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.char_indices().map(|(at, _)| at);
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).skip(WINDOW);
    starts.zip(ends).map(|(start, end)| &text[start..end])
}

/// The same in each run, so that the same recording is named.
fn hash(window: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(window)
}

#[cfg(test)]
mod tests {
    use clitape_recording::facts::LazyFacts;
    use serde_json::json;

    use super::*;

    fn said(text: &str) -> LazyFacts {
        let content = json!([{ "type": "text", "text": text }]);
        let message = json!({ "id": "m", "role": "assistant", "content": content });
        let said = json!({ "type": "assistant", "message": message });
        let result = json!({ "type": "result", "subtype": "success", "result": text });
        LazyFacts::new(format!("{said}\n{result}\n").as_bytes(), usize::MAX)
    }

    #[test]
    fn words_of_another_recording_are_found_with_its_name() {
        let [own, other] = ["The server listens on port 8080.", "The client asks for port 8081."];
        let facts = [said(own), said(other)];
        let named = ["own/1.0", "other/1.0"].map(str::to_owned).into_iter().zip(&facts);
        let run = Arc::new(RunWords::of(named));
        let check = |shown: &str, expect: Option<&str>| {
            let found = run
                .around(0)
                .words_in(shown, &letters(shown))
                .next()
                .map(|(name, _)| name.to_owned());
            assert_eq!(found.as_deref(), expect, "{shown}");
        };
        check(own, None);
        check(&format!("⏳ {other}"), Some("other/1.0"));
        check("<b>The client</b> asks for port…", None);
        check("The client *asks* for port 8081", Some("other/1.0"));
        check("xT the client asks for port 8081", Some("other/1.0"));
        check("Alas, xThe client asks for port 8", None);
        check("Nothing of either of them is here, not at all.", None);
    }
}
