//! The rules of questions: who asks, what runs before the answer, and what remains of a question. The whole input of a
//! question is shown: before there is a button in a chat, and in the requests to clients.
//!
//! They guard against mistakes that chats around the CLI made: a tool that runs unasked (claude-code#34046), buttons
//! that stay after a question was withdrawn (factory-factory#468), two askers that are mixed up (claude-agent-acp#851).

use std::collections::{HashMap, HashSet};

use clitape_gateway::ends_silent;
use clitape_gateway::question::Press;
use clitape_gateway::sanitise::{Masked, sanitise_whole};
use clitape_recording::chat::{ChatView, MessageHistory, PRESS, SeenMessage};
use clitape_recording::facts::{QuestionFacts, RecordedQuestion, TurnEnding, TurnFacts};
use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::asked::{asked_texts, texts};
use clitape_recording::text::markup::plain;
use clitape_recording::text::shown::ShownTexts;
use clitape_recording::text::{Keep, quoted, truncate};
use clitape_recording::trace::{Entry, Lane};
use serde_json::{Map, Value};

use super::answer::has_text_of_model;
use crate::case::{Broken, Case, by, by_index, has_server_faults, text, whole};
use crate::observation::{ANSWER_TO_QUESTION, ObservedEnding};
use crate::words::{letters, seconds};

/// The word of the bus for a question that is asked again in the next turn.
const MOVED: &str = "moved";
/// The time within which a question is in the chat, in ms.
const SHOWN_MS: u64 = 1_000;

/// Checks that no tool with a question runs before a yes or after a no, and that no editor shows it as running (Q6).
pub(crate) fn tool_before_yes(case: Case<'_>) -> Option<Broken<'_>> {
    ran_before_yes(case).or_else(|| in_progress_before_yes(case))
}

/// Checks that no call has a result before a yes. Without the host's side, or under a plan that changes it, the answer
/// is unknown, so these runs are left out.
fn ran_before_yes(case: Case<'_>) -> Option<Broken<'_>> {
    let knows_host = |entry: &Entry| matches!(entry.kind.as_ref(), "host_message" | "answered");
    if !case.own?.is_faithful || !case.lane(Lane::Lifecycle).any(knows_host) {
        return None;
    }
    // The question that each call waits for, and the answers.
    let (mut asked, mut answers) = (HashMap::new(), HashMap::new());
    for entry in case.lane(Lane::Lifecycle) {
        let id = entry.text("id");
        match entry.kind.as_ref() {
            "question" => {
                asked.insert(entry.text("call"), id);
            }
            "answered" => {
                answers.insert(id, entry.text("decision"));
            }
            "tool_result" if !has(entry, "is_error") && entry.field("incomplete").is_none() => {
                let Some(question) = asked.get(id) else { continue };
                let why = match answers.get(question) {
                    Some(&"allow") => continue,
                    Some(answer) => format!("although the answer was {answer}"),
                    None => "before its question was answered".to_owned(),
                };
                return by(entry, format!("call {id} ran {why}"));
            }
            _ => {}
        }
    }
    None
}

/// Checks that the call of an open question is not in progress for an editor (Q6).
fn in_progress_before_yes(case: Case<'_>) -> Option<Broken<'_>> {
    // The calls of open questions, by the id of the question.
    let mut open: HashMap<&str, &str> = HashMap::new();
    for entry in case.entries {
        let fields = |what: &str| entry.field(what).and_then(Value::as_object);
        match (entry.lane, entry.kind.as_ref()) {
            (Lane::Bus, "question") => {
                if let Some(asked) = fields("asked") {
                    open.insert(text(asked, "id"), text(asked, "call"));
                }
                if let Some(closed) = fields("closed") {
                    open.remove(text(closed, "id"));
                }
            }
            (Lane::Acp, "tool_call_update") if entry.text("status") == "in_progress" => {
                let call = entry.text("toolCallId");
                if open.values().any(|open| *open == call) {
                    let what = "is in progress for the editor before its question is closed";
                    return by(entry, format!("call {call} {what}"));
                }
            }
            _ => {}
        }
    }
    None
}

/// Checks that a question that is open for a while is in the chat. Replays with faults of the chat's server are left
/// out, because the server decides what is shown.
pub(crate) fn never_shown(case: Case<'_>) -> Option<Broken<'_>> {
    if case.setup.channel.is_none() || case.setup.run.silent || has_server_faults(case) {
        return None;
    }
    let shown: HashSet<&str> =
        case.lane(Lane::Telegram).map(|entry| entry.text("question")).collect();
    let events: Vec<&Entry> = case.lane(Lane::Lifecycle).collect();
    events.iter().enumerate().find_map(|(index, question)| {
        let (id, call) = (question.text("id"), question.text("call"));
        if question.kind != "question" || shown.contains(id) {
            return None;
        }
        let ends = |event: &&&Entry| match event.kind.as_ref() {
            "answered" | "question_withdrawn" => event.text("id") == id,
            "tool_result" => event.text("id") == call,
            "outcome" => true,
            _ => false,
        };
        let end = events[index..].iter().find(ends)?;
        let ms = end.at - question.at;
        let name = question.text("name");
        let what = format!(
            "the CLI asks about {name} and waits {ms} ms for the answer, but the chat never asks"
        );
        if ms < SHOWN_MS { None } else { by(question, what) }
    })
}

pub(crate) fn never_closed(case: Case<'_>) -> Option<Broken<'_>> {
    let closed: HashSet<&str> =
        events(case, "closed").map(|(_, fields)| text(fields, "id")).collect();
    let (entry, fields) =
        events(case, "asked").find(|(_, fields)| !closed.contains(text(fields, "id")))?;
    let (id, name) = (text(fields, "id"), text(fields, "name"));
    by(entry, format!("question {id} about {name} is never closed"))
}

pub(crate) fn buttons_stay(case: Case<'_>) -> Option<Broken<'_>> {
    let view = ChatView::after(case.entries);
    let left =
        view.messages().find(|message| !message.buttons.is_empty() && !message.is_orphaned())?;
    match case.entries.get(left.entry) {
        Some(entry) => by(entry, format!("the buttons of {} stay in the chat", entry.headline())),
        None => whole("the buttons of a question stay in the chat".to_owned()),
    }
}

/// Checks that a person who presses the button of the recorded answer, or replies with it, gives that answer (Q2, Q4).
/// The replay does it (`replay/chat.rs`).
pub(crate) fn answer_misunderstood(case: Case<'_>) -> Option<Broken<'_>> {
    whole(case.own?.counted.misunderstood.first()?.clone())
}

/// Checks that a question is closed once, and that its message gets no buttons afterwards (Q1, Q2). A question that is
/// moved to the next turn is asked there again, so that it is closed there once more.
pub(crate) fn answered_twice(case: Case<'_>) -> Option<Broken<'_>> {
    let mut closed = HashSet::new();
    for (entry, fields) in events(case, "closed") {
        let id = text(fields, "id");
        if closed.contains(id) {
            return by(entry, format!("question {id} is closed a second time"));
        }
        if text(fields, "how") != MOVED {
            closed.insert(id);
        }
    }
    let mut without = HashSet::new();
    let questions = messages(case);
    for entry in case.lane(Lane::Telegram).filter(|entry| entry.is_shown()) {
        let Some(id) = entry.message_id().filter(|id| questions.contains(id)) else { continue };
        match entry.field("buttons").is_some() {
            false => {
                without.insert(id);
            }
            true if without.contains(&id) => {
                return by(entry, format!("a closed question is open again: {}", entry.headline()));
            }
            true => {}
        }
    }
    None
}

/// Checks that a question has the parent of the call that waits for it (Q1).
pub(crate) fn wrong_asker(case: Case<'_>) -> Option<Broken<'_>> {
    let mut parents = HashMap::new();
    for entry in case.lane(Lane::Lifecycle).filter(|entry| entry.kind == "tool_start") {
        parents.insert(entry.text("id"), entry.text("parent"));
    }
    events(case, "asked").find_map(|(entry, fields)| {
        let (call, parent) = (text(fields, "call"), text(fields, "parent"));
        let right = parents.get(call).filter(|right| **right != parent)?;
        let who = |parent: &str| match parent {
            "" => "the main thread".to_owned(),
            parent => format!("the subagent of {parent}"),
        };
        let (right, wrong) = (who(right), who(parent));
        by(entry, format!("call {call} belongs to {right}, and its question to {wrong}"))
    })
}

/// Checks that a question that the CLI takes back is closed as withdrawn, unless it was closed before (Q3).
pub(crate) fn withdrawn_left(case: Case<'_>) -> Option<Broken<'_>> {
    let asked: HashSet<&str> =
        events(case, "asked").map(|(_, fields)| text(fields, "id")).collect();
    // The first event that closes each question.
    let mut closed: HashMap<&str, (&Entry, &Map<String, Value>)> = HashMap::new();
    for (entry, fields) in events(case, "closed") {
        closed.entry(text(fields, "id")).or_insert((entry, fields));
    }
    let withdrawn = case.facts.withdrawn.iter().filter(|id| asked.contains(id.as_str()));
    withdrawn.into_iter().find_map(|id| {
        let &(entry, closed) = closed.get(id.as_str())?;
        let how = text(closed, "how");
        let is_late = how == "settled";
        let sentence = || format!("the CLI took question {id} back, and it is closed as {how}");
        is_late.then(sentence).and_then(|sentence| by(entry, sentence))
    })
}

/// The ids of the messages that ask a question.
pub(crate) fn messages(case: Case<'_>) -> HashSet<u64> {
    let calls = case.lane(Lane::Telegram).filter(|entry| entry.field("question").is_some());
    calls.filter_map(Entry::message_id).collect()
}

/// The events of questions on the bus that have the field `what`, each with the object in that field.
fn events<'r>(
    case: Case<'r>,
    what: &'static str,
) -> impl Iterator<Item = (&'r Entry, &'r Map<String, Value>)> {
    let questions = case.lane(Lane::Bus).filter(|entry| entry.kind == "question");
    questions.filter_map(move |entry| Some((entry, entry.field(what)?.as_object()?)))
}

/// Returns whether a field is true.
fn has(entry: &Entry, key: &str) -> bool {
    entry.field(key) == Some(&Value::Bool(true))
}

/// The tool whose questions a person answers by choosing.
const ASK: &str = "AskUserQuestion";
/// The number of options that have a button, and of characters of a label that fit on it.
const BUTTONS: usize = 40;
const LABEL: usize = 50;
/// The columns of missing words that a sentence quotes.
const WORDS: usize = 60;

/// A question in stdout, and its input as it may be shown: whole, and without its secrets.
struct Asked<'r> {
    question: &'r RecordedQuestion,
    input: Value,
}

/// Checks that the whole input of a question is shown before there is a button, and is in the request to a client (Q2,
/// Q6).
pub(crate) fn input_unshown(case: Case<'_>) -> Option<Broken<'_>> {
    let mut asked: HashMap<&str, Option<Asked<'_>>> = HashMap::new();
    for question in &case.facts.questions {
        let Some(input) = case.facts.asked_input(question) else { continue };
        let input = sanitise_whole(&input, &mut Masked::default());
        // With a repeated id, the shown question is ambiguous.
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

/// Checks that the messages of a question, up to one with buttons, together show the subject of the buttons.
fn in_chat<'r>(case: Case<'r>, asked: &HashMap<&str, Asked<'_>>) -> Option<Broken<'r>> {
    let profile = case.setup.channel?.profile;
    let mut shown: HashMap<&str, ShownTexts> = HashMap::new();
    case.lane(Lane::Telegram).filter(|call| call.is_shown()).find_map(|call| {
        let (id, asked) = asked.get_key_value(call.text("question"))?;
        let shown = shown.entry(id).or_default();
        let sent = call.text("text");
        shown.add(&read_text(sent, profile));
        match profile {
            ChatProfile::Telegram => shown.note_hidden(sent),
            // The gateway itself writes the markup of these services.
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

/// Checks that a request to a client has the input itself.
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
    /// Finds the first hiding character of the input that was shown unchanged.
    fn hiding(&self, shown: &ShownTexts) -> Option<char> {
        texts(&self.input).iter().find_map(|text| text.hiding(shown))
    }

    /// Finds the first words about these buttons that are not shown.
    fn missing(&self, shown: &ShownTexts, buttons: &[String]) -> Option<String> {
        let lacks = |value: &Value| texts(value).iter().find_map(|text| text.lacking(shown));
        let name = self.question.name.as_str();
        let choices = self.input["questions"].as_array().filter(|_| name == ASK);
        if let Some(choices) = choices {
            // Each part has its own buttons, which name the options.
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

/// The text of a message as a person reads it.
fn read_text(text: &str, profile: ChatProfile) -> String {
    match profile {
        ChatProfile::Telegram | ChatProfile::Slack => plain(text),
        ChatProfile::Discord => text.to_owned(),
    }
}

/// The number of letters that are enough to recognise a question.
const QUESTION: usize = 24;

/// Checks that the person is shown each question of the CLI, if the subject passes questions on.
pub(crate) fn question_untold(case: Case<'_>) -> Option<Broken<'_>> {
    let is_of_question = |(line, _): (&str, &str)| line.starts_with(ANSWER_TO_QUESTION);
    let lacks_answer =
        case.ending.denies_instead() || case.ending.waited_for().is_some_and(is_of_question);
    if !case.traits.asks_questions || !(lacks_answer || *case.ending == ObservedEnding::Over) {
        return None;
    }
    if !case.traits.lets_claude_ask {
        let has_question = case.played().any(|(_, turn)| !turn.questions.is_empty());
        return has_question.then(|| {
            whole(
                "the gateway starts `claude` without `--permission-prompt-tool`, or in a mode that bypasses permissions, so \
                 that `claude` asks nobody; `questions_asked = true` says that the person is asked"
                    .to_owned(),
            )
        })?;
    }
    let mut questions =
        case.played().flat_map(|(number, turn)| turn.questions.iter().map(move |q| (number, q)));
    questions.find_map(|(number, question)| {
        let is_told = case
            .chat()
            .ever_seen()
            .any(|version| !version.buttons.is_empty() || asks(version.letters(), question));
        (!is_told && !question.words.is_empty()).then(|| {
            let turn = case.of_turn(number);
            let words = question.words.first().map(|words| quoted(words)).unwrap_or_default();
            whole(format!(
                "{turn}claude asked about {} {words}, and no message of the chat did",
                question.name
            ))
        })?
    })
}

/// Returns whether a text has the words of a question.
fn asks(text: &str, question: &QuestionFacts) -> bool {
    question.words.iter().any(|words| {
        let words = letters(words);
        let cut = words.char_indices().nth(QUESTION).map_or(words.len(), |(at, _)| at);
        cut > 0 && text.contains(&words[..cut])
    })
}

/// Checks that the chat has shown the whole subject of a question before the person presses a button. The content of
/// files is not read.
pub(crate) fn question_unshown(case: Case<'_>) -> Option<Broken<'_>> {
    let entries = case.entries;
    let is_press = |(_, entry): &(usize, &Entry)| entry.kind == PRESS;
    let presses: Vec<(usize, &Entry)> = entries.iter().enumerate().filter(is_press).collect();
    let questions: Vec<_> = case
        .played()
        .flat_map(|(number, turn)| turn.questions.iter().map(move |question| (number, question)))
        .collect();
    // A file belongs to one question.
    let mut read = Vec::new();
    questions.iter().enumerate().find_map(|(index, (number, question))| {
        // If the numbers of presses and questions differ, the last press is taken, which has seen the most.
        let is_one_each = presses.len() == questions.len();
        let press = if is_one_each { presses.get(index) } else { presses.last() };
        let (at, press) = press?;
        let mut shown = ShownTexts::default();
        for version in case.chat().ever_seen().filter(|version| version.entry < *at) {
            shown.add(version.plain_text());
            if !version.buttons.is_empty() {
                shown.note_hidden(version.plain_text());
            }
        }
        let (turn, label) = (case.of_turn(*number), quoted(press.text("label")));
        let pressed = format!("{turn}the person pressed {label} at {}", seconds(press.at));
        let name = &question.name;
        if let Some(c) = question.texts.iter().find_map(|text| text.hiding(&shown)) {
            let code = u32::from(c);
            let sentence = format!(
                "{pressed} below a text in which U+{code:04X}, of what claude asks about {name}, hides text or changes its order"
            );
            return by_index(case, *at, sentence);
        }
        let missing = question.texts.iter().find_map(|text| text.lacking(&shown))?;
        if let Some(file) = files(entries, *at).find(|file| !read.contains(file)) {
            read.push(file);
            return None;
        }
        let missing = quoted(&missing);
        by_index(case, *at,
            format!("{pressed} and was never shown {missing} of what claude asks about {name}"),
        )
    })
}

/// The files that were shown between the person's last message and this entry.
fn files(entries: &[Entry], at: usize) -> impl Iterator<Item = usize> {
    let asked = entries[..at].iter().rposition(|entry| entry.kind == "(user)").unwrap_or(0);
    let is_file = |entry: &Entry| entry.data.contains_key("file") && entry.is_shown();
    (asked..at).filter(move |index| is_file(&entries[*index]))
}

/// The time within which a message says what became of its press, in ms.
const TOLD_MS: u64 = 5_000;
/// The words by which a chat says, or a button asks, that something is not allowed; and those that it is.
const NO: [&str; 8] = [
    "not allow",
    "not approve",
    "don't allow",
    "don’t allow",
    "denied",
    "deny",
    "reject",
    "declined",
];
const YES: [&str; 3] = ["allow", "approve", "granted"];

/// Checks that a message that was pressed does not say the opposite of the press.
pub(crate) fn told_wrong(case: Case<'_>) -> Option<Broken<'_>> {
    // `None` for words that say neither, or both.
    let means = |text: &str| {
        let text = text.to_lowercase();
        let has_no = NO.iter().any(|word| text.contains(word));
        let rest = NO.iter().fold(text, |text, word| text.replace(word, ""));
        let has_yes = YES.iter().any(|word| rest.contains(word));
        (has_no != has_yes).then_some(has_yes)
    };
    let presses = case.entries.iter().enumerate().filter(|(_, entry)| entry.kind == PRESS);
    presses.into_iter().find_map(|(at, press)| {
        let label = press.text("label");
        let (pressed, id) = (means(label)?, press.message_id()?);
        let message = case.chat().messages().find(|message| message.id == id)?;
        let before = message.after(at)?.plain_text();
        let is_told =
            |version: &&SeenMessage| version.entry > at && version.at <= press.at + TOLD_MS;
        message.versions.iter().filter(is_told).find_map(|version| {
            let own = case.own_lines(version.plain_text());
            let new = own.into_iter().filter(|line| !before.contains(line));
            let line =
                new.into_iter().find(|line| means(line).is_some_and(|told| told != pressed))?;
            let [label, line] = [label, line].map(quoted);
            let (pressed, told) = (seconds(press.at), seconds(version.at));
            let sentence = format!(
                "the person pressed {label} at {pressed}, and at {told} the chat says {line}"
            );
            by_index(case, version.entry, sentence)
        })
    })
}

/// Checks that the buttons of a question leave the chat with its answer, or with its turn.
pub(crate) fn buttons_left(case: Case<'_>) -> Option<Broken<'_>> {
    let pressed = case.entries.iter().filter(|entry| entry.kind == PRESS);
    let still = case
        .chat()
        .left()
        .filter(|message| !message.last().buttons.is_empty() && is_question(case, message));
    let left: Vec<&MessageHistory> = still.collect();
    let of_press = |press: &'_ Entry| left.iter().find(|it| Some(it.id) == press.message_id());
    let answered = pressed.filter_map(|press| Some((press, of_press(press)?))).next();
    let (message, by_whom) = match answered {
        Some((press, message)) => {
            let (label, at) = (quoted(press.text("label")), seconds(press.at));
            (message, format!("the person pressed {label} at {at}, and"))
        }
        None => {
            // A message with the answer may ask the person something of its own, such as whether it helped.
            let is_open = |message: &&&MessageHistory| {
                answers_question(case, message.last()) && !has_text_of_model(case, message)
            };
            let message = left.iter().find(is_open)?;
            (message, "the turn has ended without an answer to its question, and".to_owned())
        }
    };
    let last = message.last();
    by_index(
        case,
        last.entry,
        format!(
            "{by_whom} {} still has the buttons {} when the run is over",
            quoted(last.plain_text()),
            quoted(&last.buttons.concat().join(", "))
        ),
    )
}

/// The words of buttons that answer a question for a permission.
const ANSWERS: [&str; 7] = ["allow", "approve", "accept", "yes", "deny", "reject", "no"];

/// Returns whether a message has a button that answers a question of a turn that was played.
fn answers_question(case: Case<'_>, message: &SeenMessage) -> bool {
    let is_answer = |label: &str| {
        let words = label.to_lowercase();
        words.split(|c: char| !c.is_alphanumeric()).any(|word| ANSWERS.contains(&word))
    };
    let questions = || case.played().flat_map(|(_, turn)| &turn.questions);
    let is_option = |label: &str| {
        let label = letters(label);
        let mut texts = questions().filter(|it| it.name == ASK).flat_map(|it| &it.texts);
        !label.is_empty()
            && texts.any(|text| text.texts().iter().any(|text| letters(text) == label))
    };
    let mut labels = message.buttons.iter().flatten();
    questions().next().is_some() && labels.any(|label| is_answer(label) || is_option(label))
}

/// Returns whether a version of a message asked a question of the CLI.
fn is_question(case: Case<'_>, message: &MessageHistory) -> bool {
    let mut questions = case.turns().iter().flat_map(|turn| &turn.questions);
    questions.any(|question| {
        message.versions.iter().any(|version| {
            asks(version.letters(), question)
                || version.letters().contains(&letters(&question.name))
        })
    })
}

/// Checks that a silent turn leaves no message in the chat, and beside other turns none that ends with the word for
/// silence, if the subject promises that.
pub(crate) fn silence_broken(case: Case<'_>) -> Option<Broken<'_>> {
    let is_silent = |turn: &TurnFacts| turn.ending == TurnEnding::Silent;
    if !case.traits.keeps_silence || !case.played().any(|(_, turn)| is_silent(turn)) {
        return None;
    }
    let all_are = case.played().all(|(_, turn)| is_silent(turn));
    let tells = |message: &&SeenMessage| all_are || ends_silent(message.plain_text());
    let last = case.chat().left().map(MessageHistory::last).find(tells)?;
    by_index(
        case,
        last.entry,
        format!(
            "the agent has nothing to say, and {} is left in the chat since {}",
            quoted(last.plain_text()),
            seconds(last.at)
        ),
    )
}
