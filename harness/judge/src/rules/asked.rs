//! What a person is asked is shown, all of it: before there is a button in a chat, and in the requests to clients.

use std::collections::HashMap;

use clitape_gateway::question::Press;
use clitape_gateway::sanitise::{Masked, sanitise_whole};
use clitape_recording::facts::RecordedQuestion;
use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::asked::{asked_texts, texts};
use clitape_recording::text::markup::plain;
use clitape_recording::text::shown::ShownTexts;
use clitape_recording::text::{Keep, truncate};
use clitape_recording::trace::Lane;
use serde_json::Value;

use super::violation::{Broken, by, text};
use crate::case::Case;

/// The tool whose questions a person answers by choosing.
const ASK: &str = "AskUserQuestion";
/// The options that have a button, and the characters of a label that it has room for.
const BUTTONS: usize = 40;
const LABEL: usize = 50;
/// Columns of the words that are missing.
const WORDS: usize = 60;

/// A question that stdout states, and its input as it may be shown: whole, and without its secrets.
struct Asked<'r> {
    question: &'r RecordedQuestion,
    input: Value,
}

/// Q2, Q6: all of the input that is asked about is shown before there is a button, and is in the request to a client.
pub(crate) fn input_unshown(case: Case<'_>) -> Option<Broken<'_>> {
    let mut asked: HashMap<&str, Option<Asked<'_>>> = HashMap::new();
    for question in &case.facts.questions {
        let Some(input) = case.facts.asked_input(question) else { continue };
        let input = sanitise_whole(&input, &mut Masked::default());
        // Of an id that comes again, nobody knows which question is shown.
        let known = asked.entry(&question.id);
        known.and_modify(|known| *known = None).or_insert(Some(Asked { question, input }));
    }
    asked.retain(|_, asked| asked.is_some());
    let asked: HashMap<&str, Asked<'_>> =
        asked.into_iter().filter_map(|(id, asked)| Some((id, asked?))).collect();
    if asked.is_empty() {
        return None;
    }
    in_chat(case, &asked).or_else(|| in_request(case, &asked))
}

/// The messages of a question, up to one with buttons, show together what its buttons are about.
fn in_chat<'r>(case: Case<'r>, asked: &HashMap<&str, Asked<'_>>) -> Option<Broken<'r>> {
    let profile = case.setup.channel?.profile;
    let mut shown: HashMap<&str, ShownTexts> = HashMap::new();
    case.lane(Lane::Telegram).filter(|call| call.is_shown()).find_map(|call| {
        let (id, asked) = asked.get_key_value(call.text("question"))?;
        let shown = shown.entry(id).or_default();
        let sent = call.text("text");
        shown.add(&read(sent, profile));
        match profile {
            ChatProfile::Telegram => shown.note_hidden(sent),
            // The gateway itself writes it into the markup of these.
            ChatProfile::Discord | ChatProfile::Slack => {
                shown.note_hidden(&sent.replace('\u{200b}', ""));
            }
        }
        if let Some(content) = call.field("content").and_then(Value::as_str) {
            shown.add(content);
            shown.note_hidden(content);
        }
        let buttons = call.buttons().concat();
        if buttons.is_empty() {
            return None;
        }
        let name = &asked.question.name;
        if let Some(c) = asked.hiding(shown) {
            let number = u32::from(c);
            return by(
                call,
                format!(
                    "the person is asked about {name}, and U+{number:04X} in it, which hides text or changes its order, is shown as it is"
                ),
            );
        }
        let missing = asked.missing(shown, &buttons)?;
        let missing = truncate(&missing, WORDS, Keep::Ends);
        by(call, format!("the person is asked about {name}, and is not shown “{missing}”"))
    })
}

/// A request to a client has the input itself.
fn in_request<'r>(case: Case<'r>, asked: &HashMap<&str, Asked<'_>>) -> Option<Broken<'r>> {
    case.entries.iter().find_map(|entry| {
        let (id, input) = match (entry.lane, entry.kind.as_ref()) {
            (Lane::Bus, "question") => {
                let question = entry.field("asked")?.as_object()?;
                (text(question, "id"), question.get("input"))
            }
            (Lane::Sse, "question") => (entry.text("questionId"), entry.field("input")),
            (Lane::Acp, "request_permission") => {
                let option = entry.field("options")?.get(0)?["optionId"].as_str()?;
                let press = Press::parse(option)?;
                let id = asked.keys().find(|id| press.is_for(id))?;
                (*id, entry.field("toolCall")?.get("rawInput"))
            }
            _ => return None,
        };
        let asked = asked.get(id).filter(|asked| asked.question.name != ASK)?;
        let name = &asked.question.name;
        let sentence = || format!("the input of {name} that is asked about is not whole here");
        (input != Some(&asked.input)).then(sentence).and_then(|sentence| by(entry, sentence))
    })
}

impl Asked<'_> {
    /// The first character of the input that hides and was shown as it is.
    fn hiding(&self, shown: &ShownTexts) -> Option<char> {
        texts(&self.input).iter().find_map(|text| text.hiding(shown))
    }

    /// The first words that are not shown of what these buttons are about.
    fn missing(&self, shown: &ShownTexts, buttons: &[String]) -> Option<String> {
        let lacks = |value: &Value| texts(value).iter().find_map(|text| text.lacking(shown));
        let name = self.question.name.as_str();
        let choices = self.input["questions"].as_array().filter(|_| name == ASK);
        if let Some(choices) = choices {
            // Each part has buttons of its own, which say what can be chosen.
            let is_on_button = |option: &Value| {
                let label = option["label"].as_str().unwrap_or_default();
                let label: String = label.chars().take(LABEL).collect();
                buttons.iter().any(|button| button.contains(&label))
            };
            let is_it = |choice: &&Value| {
                let options = choice["options"].as_array();
                options.is_none_or(|all| all.iter().take(BUTTONS).all(is_on_button))
            };
            let lacking = choices.iter().filter(is_it).map(lacks);
            return lacking.min_by_key(Option::is_some).flatten();
        }
        asked_texts(name, &self.input).iter().find_map(|text| text.lacking(shown))
    }
}

/// The text of a message that a person reads.
fn read(text: &str, profile: ChatProfile) -> String {
    match profile {
        ChatProfile::Telegram | ChatProfile::Slack => plain(text),
        ChatProfile::Discord => text.to_owned(),
    }
}
