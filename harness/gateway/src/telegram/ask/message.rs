//! The message of one question: its text and its buttons ([Q2](crate::rules::Q2)).
//!
//! If the message can't hold all of the question, pages or a file with all of it go [ahead](Ahead).

use std::time::Duration;

use serde_json::Value;

use super::super::api::Button;
use super::super::markup::{Style, StyledText, bold, escaped, italic, piece, plain, read};
use super::super::page::{first_page, fits, pages_within, shortened};
use crate::excerpt::{cut, short};
use crate::profile::{Profile, length};
use crate::question::{
    Choice, Chosen, Closing, Press, PressedButton, Question, QuestionClosed, QuestionKind,
    QuestionWaits,
};

/// Options that have a button; Telegram takes a hundred buttons.
const OPTIONS: usize = 40;
/// Characters on a button, of the name of who answered, and of the word or two for a choice.
const BUTTON_LIMIT: usize = 60;
const NAME_LIMIT: usize = 60;
const HEADER_LIMIT: usize = 60;
/// Characters of the reason why something was not sent.
const REASON_LIMIT: usize = 200;
/// The tool whose description only explains its command, and is not part of it.
const SHELL: &str = "Bash";
/// Times of fewer seconds are written in seconds, longer ones in minutes.
const SECONDS: u64 = 120;
/// The pages that go ahead of a message; a longer subject is a file, because people don't read on
/// so far in a chat.
const PAGES: usize = 4;
/// Characters of the beginning and of the end of a file that its message shows.
const EXCERPT: usize = 400;

/// The question of one message: a permission, or one of the choices of a question.
#[derive(Debug)]
pub(super) struct AskedMessage {
    pub(super) question: Question,
    /// The number of the choice; 0 for a permission.
    pub(super) part: usize,
    /// The options that are marked, if several can be chosen.
    pub(super) marked: Vec<usize>,
    /// The choice of the person, while the other choices of the question wait.
    pub(super) chosen: Option<Chosen>,
    pub(super) waits: Option<QuestionWaits>,
    pub(super) closed: Option<QuestionClosed>,
    /// The pages or the file that go ahead of it, because it can't hold all of the question.
    pub(super) ahead: Ahead,
    /// The reason why that can't be shown. The message then has no button.
    pub(super) unshown: Option<String>,
}

/// A message as a chat shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct QuestionFace {
    pub(super) html: String,
    pub(super) file: Option<String>,
    pub(super) buttons: Vec<Vec<Button>>,
}

impl AskedMessage {
    pub(super) fn new(question: &Question, part: usize, profile: &Profile) -> Self {
        let mut asked = Self {
            question: question.visible(),
            part,
            marked: Vec::new(),
            chosen: None,
            waits: None,
            closed: None,
            ahead: Ahead::Nothing,
            unshown: None,
        };
        let subject = asked.subject();
        // Room for the longest words that may come to it while it is open.
        let longest = asked.hint(Some([Duration::MAX; 2]));
        let all = [asked.asks(), asked.title(), subject.clone(), longest].concat();
        asked.ahead = Ahead::of(&all, &subject, || asked.source(&subject), profile);
        asked
    }

    /// The choice that the message asks; `None` for a permission.
    pub(super) fn choice(&self) -> Option<&Choice> {
        match &self.question.kind {
            QuestionKind::Choices(choices) => choices.get(self.part),
            QuestionKind::Permission { .. } => None,
        }
    }

    /// Makes the message that goes ahead with this number, from 0.
    pub(super) fn face_ahead(&self, number: usize, profile: &Profile) -> Option<QuestionFace> {
        let (html, file) = self.ahead.message(number, profile)?;
        Some(QuestionFace { html, file, buttons: Vec::new() })
    }

    /// Makes the message as `profile` writes it. It has buttons only if the person sees all of the
    /// question.
    pub(super) fn face(&self, profile: &Profile) -> QuestionFace {
        if let Some(closed) = &self.closed {
            let html = shortened(&[self.verdict(closed), self.name()].concat(), profile);
            return QuestionFace { html, ..QuestionFace::default() };
        }
        let subject = match (&self.unshown, &self.ahead) {
            (Some(why), _) => unshown(why),
            (None, Ahead::Nothing) => self.subject(),
            (None, ahead) => ahead.note(profile),
        };
        let waits = self.waits.as_ref().map(|waits| [waits.after, waits.denied_in]);
        let pieces = [self.asks(), self.title(), subject, self.hint(waits)].concat();
        let (html, is_whole) = first_page(&pieces, profile, profile.limit).unwrap_or_default();
        let buttons = if is_whole { self.buttons() } else { Vec::new() };
        QuestionFace { html, file: None, buttons }
    }

    /// The line that names the asker and its wish.
    fn asks(&self) -> Vec<StyledText> {
        let who = match self.question.parent {
            None => "The agent",
            Some(_) => "A subagent",
        };
        let words = match self.choice() {
            Some(Choice { header: Some(header), .. }) => {
                format!("❓ {who} asks: {}", cut(header.clone(), HEADER_LIMIT))
            }
            Some(_) => format!("❓ {who} asks"),
            None if self.question.plan().is_some() => {
                format!("📋 {who} asks you to approve its plan")
            }
            None => format!("🔐 {who} asks for your permission"),
        };
        vec![bold(words)]
    }

    /// The decision, with its author and its time.
    fn verdict(&self, closed: &QuestionClosed) -> Vec<StyledText> {
        let by =
            closed.by.as_deref().map(|name| format!(" by {}", cut(name.to_owned(), NAME_LIMIT)));
        let by = by.unwrap_or_default();
        let after = after(closed.after);
        let (words, reason) = match &closed.closing {
            Closing::Allowed { .. } if self.choice().is_some() => {
                (format!("✅ Answered{by} {after}"), self.answer(&closed.closing))
            }
            Closing::Allowed { .. } => (format!("✅ Allowed{by} {after}"), None),
            Closing::Denied { message } => {
                (format!("⛔ Denied{by} {after}"), Some(message.clone()))
            }
            Closing::Stopped => (format!("⏹️ Stopped{by} {after}"), None),
            Closing::Withdrawn => (format!("↩️ Taken back by the agent {after}"), None),
            Closing::Expired => {
                (format!("⌛ Denied: nobody answered in {}", span(closed.after)), None)
            }
            Closing::Settled => {
                (format!("☑️ Closed {after}, without an answer from this chat"), None)
            }
            Closing::Moved => ("⤵️ Asked again below".to_owned(), None),
        };
        let mut pieces = vec![bold(words)];
        let reason = reason.filter(|reason| !reason.is_empty());
        pieces.extend(reason.map(|reason| plain(format!(": {reason}"))));
        pieces
    }

    /// The answer to the choice of this message.
    fn answer(&self, closing: &Closing) -> Option<String> {
        let Closing::Allowed { answers } = closing else { return None };
        let question = &self.choice()?.question;
        let by_words = answers.iter().find(|(asked, _)| asked == question);
        by_words.or_else(|| answers.get(self.part)).map(|(_, answer)| answer.clone())
    }

    /// The line of the call that waits. A plan speaks for itself.
    fn title(&self) -> Vec<StyledText> {
        let is_plain = self.choice().is_none() && self.question.plan().is_none();
        is_plain.then(|| plain(format!("\n{}", self.question.title))).into_iter().collect()
    }

    /// The line that names the subject of the decision.
    fn name(&self) -> Vec<StyledText> {
        let line = self.choice().map_or(&self.question.title, |choice| &choice.question);
        vec![plain(format!("\n{line}"))]
    }

    /// All of the subject of the decision.
    fn subject(&self) -> Vec<StyledText> {
        let question = &self.question;
        let mut pieces = Vec::new();
        if let Some(choice) = self.choice() {
            let header = choice.header.iter().filter(|h| h.chars().count() > HEADER_LIMIT);
            pieces.extend(header.map(|header| plain(format!("\n{header}"))));
            pieces.push(plain(format!("\n{}", choice.question)));
            for option in &choice.options {
                let words = option.description.iter().map(|words| format!(": {words}"));
                pieces.push(plain(format!("\n• {}{}", option.label, words.collect::<String>())));
                if let Some(preview) = &option.preview {
                    pieces.extend([plain("\n"), piece(Style::block(""), preview)]);
                }
            }
            return pieces;
        }
        let plan = question.plan();
        if let Some(plan) = plan {
            pieces.push(plain("\n\n"));
            pieces.extend(read(plan));
        }
        for words in arguments(question) {
            let gap = if plan.is_some() { "\n\n" } else { "\n" };
            pieces.extend([plain(gap), piece(Style::block(""), words)]);
        }
        if let Some(words) = &question.description {
            pieces.extend([plain("\n"), italic(words.clone())]);
        }
        let path = question.blocked_path.as_ref();
        pieces.extend(path.map(|path| plain(format!("\nIt needs access to {path}"))));
        for (label, all) in question.suggestions_in_full() {
            let words = plain(format!("\n✅ {label}:\n"));
            pieces.extend([words, piece(Style::block(""), all)]);
        }
        pieces
    }

    /// The same as the text of a file, in which a plan is the Markdown that it was written in.
    fn source(&self, subject: &[StyledText]) -> String {
        let text = match self.question.plan() {
            Some(plan) => [plan, &arguments(&self.question).join("\n")].join("\n\n"),
            None => subject.iter().map(|piece| piece.text.as_str()).collect(),
        };
        text.trim_matches(['\n']).to_owned()
    }

    /// The ways to answer, and the times for which it `waits` already and goes on to.
    fn hint(&self, waits: Option<[Duration; 2]>) -> Vec<StyledText> {
        let waits = waits.map(|waits| {
            let [after, denied_in] = waits.map(span);
            format!("⏳ It has waited for {after} and is denied in {denied_in}.")
        });
        let hint = match (&self.chosen, self.choice()) {
            (Some(_), _) => "☑️ Noted; the other questions wait for your answer.",
            (None, Some(_)) if self.unshown.is_some() => "Reply with an answer of your own.",
            (None, Some(choice)) if choice.multi_select => {
                "Choose any of them and press Done, or reply with an answer of your own."
            }
            (None, Some(_)) => "Choose one, or reply with an answer of your own.",
            (None, None) => "Reply to say no and what to do instead.",
        };
        let words = waits.into_iter().chain([hint.to_owned()]);
        words.flat_map(|words| [plain("\n\n"), italic(words)]).collect()
    }

    /// The buttons, row by row; none once the choice is made.
    fn buttons(&self) -> Vec<Vec<Button>> {
        if self.chosen.is_some() || self.unshown.is_some() {
            return Vec::new();
        }
        let button = |text: String, button: PressedButton| Button {
            text: cut(text, BUTTON_LIMIT),
            data: Press::new(&self.question.id, button).data(),
        };
        let Some(choice) = self.choice() else {
            let mut rows = vec![vec![
                button("✅ Allow".to_owned(), PressedButton::Allow),
                button("⛔ Deny".to_owned(), PressedButton::Deny),
            ]];
            let suggestions = self.question.suggestions.iter().take(OPTIONS).enumerate();
            rows.extend(suggestions.map(|(number, label)| {
                vec![button(format!("✅ {label}"), PressedButton::Suggestion(number))]
            }));
            return rows;
        };
        let part = self.part;
        let mut rows: Vec<Vec<Button>> = (choice.options.iter().take(OPTIONS).enumerate())
            .map(|(option, one)| {
                let mark = match (choice.multi_select, self.marked.contains(&option)) {
                    (false, _) => "",
                    (true, true) => "☑ ",
                    (true, false) => "☐ ",
                };
                let text = format!("{mark}{}", one.label);
                vec![button(text, PressedButton::Option { choice: part, option })]
            })
            .collect();
        if choice.multi_select {
            let done = PressedButton::Done { choice: part };
            rows.push(vec![button("✔️ Done".to_owned(), done)]);
        }
        rows
    }
}

/// Returns the effect of the call in the call's own words, because a line that explains it is not
/// enough to decide by. These are the command, and each other argument on a line of its own; a plan
/// and words that are shown elsewhere are left out.
fn arguments(question: &Question) -> Vec<String> {
    let QuestionKind::Permission { input } = &question.kind else { return Vec::new() };
    let Value::Object(fields) = input else {
        return if input.is_null() { Vec::new() } else { vec![input.to_string()] };
    };
    let command = fields.get("command").and_then(Value::as_str);
    let is_elsewhere = |key: &str, value: &Value| match (key, value.as_str()) {
        ("command", text) => text.is_some(),
        ("plan", text) => text.is_some() && question.plan().is_some(),
        ("description", Some(text)) => {
            let shown = question.description.as_deref();
            question.name == SHELL || shown == Some(short(text, usize::MAX).as_str())
        }
        _ => false,
    };
    let line = |(key, value): (&String, &Value)| match value.as_str() {
        Some(text) => format!("{key}: {text}"),
        None => format!("{key}: {value}"),
    };
    let rest = fields.iter().filter(|(key, value)| !is_elsewhere(key, value));
    let rest = rest.map(line).collect::<Vec<_>>().join("\n");
    [command.unwrap_or_default(), &rest]
        .into_iter()
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The words in the place of a subject that the chat did not take.
fn unshown(why: &str) -> Vec<StyledText> {
    let words = "It is too long for one message, and what was to go ahead could not be sent";
    vec![plain(format!(
        "\n⚠️ {words}: {}. So nobody can say yes to it here.",
        short(why, REASON_LIMIT)
    ))]
}

/// The time of the decision.
fn after(time: Duration) -> String {
    match time.as_secs() {
        0 => "at once".to_owned(),
        _ => format!("after {}", span(time)),
    }
}

/// A span of time in words.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..SECONDS => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

/// The messages that go ahead of one with buttons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Ahead {
    /// The message itself holds all of it.
    #[default]
    Nothing,
    /// It is on these pages.
    Pages(Vec<String>),
    /// It is in a file with this text.
    File(String),
}

impl Ahead {
    /// Decides where `subject` is shown: in its message, if that has room for it and for the rest of `message`. `source`
    /// is the text of its file.
    fn of(
        message: &[StyledText],
        subject: &[StyledText],
        source: impl FnOnce() -> String,
        profile: &Profile,
    ) -> Self {
        if fits(message, profile) {
            return Self::Nothing;
        }
        let widest = written(&heading(PAGES, PAGES), profile);
        let room = profile.limit.saturating_sub(length(&widest) + 1);
        let characters: usize = subject.iter().map(|piece| piece.text.chars().count()).sum();
        let pages = match characters > PAGES * room {
            true => Vec::new(),
            false => pages_within(subject, profile, room),
        };
        if !(1..=PAGES).contains(&pages.len()) {
            return Self::File(source());
        }
        let all = pages.len();
        let page = |(page, number): (String, usize)| {
            format!("{}\n{page}", written(&heading(number, all), profile))
        };
        Self::Pages(pages.into_iter().zip(1..).map(page).collect())
    }

    /// The number of messages that go ahead.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Pages(pages) => pages.len(),
            Self::File(_) => 1,
        }
    }

    /// The text of the message with this number, from 0, and its file.
    fn message(&self, number: usize, profile: &Profile) -> Option<(String, Option<String>)> {
        match self {
            Self::Nothing => None,
            Self::Pages(pages) => Some((pages.get(number)?.clone(), None)),
            Self::File(text) if number == 0 => {
                Some((written(&heading(1, 1), profile), Some(text.clone())))
            }
            Self::File(_) => None,
        }
    }

    /// The words about it in the message with the buttons.
    fn note(&self, profile: &Profile) -> Vec<StyledText> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Pages(pages) => {
                let place = match pages.len() {
                    1 => "message above".to_owned(),
                    many => format!("{many} messages above"),
                };
                vec![plain("\n"), italic(format!("⬆️ All of it is in the {place}."))]
            }
            Self::File(text) => {
                let count = text.chars().count();
                let [begins, ends] = ends(text, profile).map(|end| piece(Style::block(""), end));
                vec![
                    plain("\n"),
                    italic(format!(
                        "⬆️ All of it is in the file above: {count} characters. It begins:"
                    )),
                    plain("\n"),
                    begins,
                    plain("\n"),
                    italic("and ends:"),
                    plain("\n"),
                    ends,
                ]
            }
        }
    }
}

/// The line above a page of a question. It stays true once the question is answered.
fn heading(number: usize, all: usize) -> Vec<StyledText> {
    let part = if all == 1 { String::new() } else { format!(", part {number} of {all}") };
    vec![bold(format!("📄 What is asked below{part}"))]
}

/// A few words as they are written.
fn written(pieces: &[StyledText], profile: &Profile) -> String {
    pages_within(pieces, profile, usize::MAX).concat()
}

/// The beginning and the end of a text, each as long as an excerpt may be where it is written as code.
fn ends<'t>(text: &'t str, profile: &Profile) -> [&'t str; 2] {
    let escapes = Style::block("").escapes(profile);
    let cost = |c: char| match c {
        '`' => length("`") + length(profile.fence_break),
        _ => length(&escaped(escapes, c)),
    };
    let end = |letters: &mut dyn Iterator<Item = char>| {
        let mut left = EXCERPT;
        let mut fitting = letters.map_while(|c| {
            left = left.checked_sub(cost(c))?;
            Some(c.len_utf8())
        });
        fitting.by_ref().sum::<usize>()
    };
    let head = end(&mut text.chars());
    let tail = text.len() - end(&mut text.chars().rev());
    [&text[..head], &text[tail..]]
}
