//! The message of one question: what it says and which buttons it has ([Q2](crate::rules::Q2)).

use std::time::Duration;

use serde_json::Value;

use super::super::api::Button;
use super::super::markup::{Style, StyledText, piece, read};
use super::super::page::first_page;
use crate::excerpt::cut;
use crate::profile::Profile;
use crate::question::{
    Choice, Chosen, Closing, Press, PressedButton, Question, QuestionClosed, QuestionKind,
    QuestionWaits,
};

/// Options that have a button; Telegram takes a hundred buttons.
const OPTIONS: usize = 40;
/// Characters on a button, and of the name of who answered.
const BUTTON_LIMIT: usize = 60;
const NAME_LIMIT: usize = 60;
/// Seconds that are told as such; more are told as minutes.
const SECONDS: u64 = 120;

/// What is asked in one message: a permission, or one of the choices of a question.
#[derive(Debug)]
pub(super) struct AskedMessage {
    pub(super) question: Question,
    /// The number of the choice; 0 for a permission.
    pub(super) part: usize,
    /// Which options are marked, where several can be chosen.
    pub(super) marked: Vec<usize>,
    /// What was chosen, while the other choices of the question wait.
    pub(super) chosen: Option<Chosen>,
    pub(super) waits: Option<QuestionWaits>,
    pub(super) closed: Option<QuestionClosed>,
}

/// A message as a chat shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Face {
    pub(super) html: String,
    pub(super) buttons: Vec<Vec<Button>>,
}

impl AskedMessage {
    pub(super) fn new(question: &Question, part: usize) -> Self {
        Self {
            question: question.clone(),
            part,
            marked: Vec::new(),
            chosen: None,
            waits: None,
            closed: None,
        }
    }

    /// The choice that the message asks; `None` for a permission.
    pub(super) fn choice(&self) -> Option<&Choice> {
        match &self.question.kind {
            QuestionKind::Choices(choices) => choices.get(self.part),
            QuestionKind::Permission { .. } => None,
        }
    }

    /// Makes the message as `profile` writes it.
    pub(super) fn face(&self, profile: &Profile) -> Face {
        let mut pieces = match &self.closed {
            Some(closed) => self.verdict(closed),
            None => self.asks(),
        };
        pieces.extend(self.subject());
        if self.closed.is_none() {
            pieces.extend(self.hint());
        }
        let page = first_page(&pieces, profile, profile.limit.saturating_sub(1));
        let (mut html, is_whole) = page.unwrap_or_default();
        if !is_whole {
            html.push('…');
        }
        Face { html, buttons: self.buttons() }
    }

    /// Who asks for what.
    fn asks(&self) -> Vec<StyledText> {
        let who = match self.question.parent {
            None => "The agent",
            Some(_) => "A subagent",
        };
        let words = match self.choice() {
            Some(Choice { header: Some(header), .. }) => format!("❓ {who} asks: {header}"),
            Some(_) => format!("❓ {who} asks"),
            None if self.question.plan().is_some() => {
                format!("📋 {who} asks you to approve its plan")
            }
            None => format!("🔐 {who} asks for your permission"),
        };
        vec![bold(words)]
    }

    /// What was decided, by whom and when.
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

    /// What is asked about.
    fn subject(&self) -> Vec<StyledText> {
        let question = &self.question;
        let mut pieces = Vec::new();
        if let Some(choice) = self.choice() {
            pieces.push(plain(format!("\n{}", choice.question)));
            if self.closed.is_none() {
                let lines = choice.options.iter().map(|option| match &option.description {
                    Some(words) => format!("\n• {}: {words}", option.label),
                    None => format!("\n• {}", option.label),
                });
                pieces.extend(lines.map(plain));
            }
            return pieces;
        }
        let plan = question.plan().filter(|_| self.closed.is_none());
        if plan.is_none() {
            pieces.push(plain(format!("\n{}", question.title)));
        }
        if self.closed.is_some() {
            return pieces;
        }
        if plan.is_none()
            && let Some(words) = arguments(question)
        {
            pieces.extend([plain("\n"), piece(Style::block(""), words)]);
        }
        if let Some(words) = &question.description {
            pieces.extend([plain("\n"), piece(Style::ITALIC, words.clone())]);
        }
        let path = question.blocked_path.as_ref();
        pieces.extend(path.map(|path| plain(format!("\nIt needs access to {path}"))));
        if let Some(plan) = plan {
            pieces.push(plain("\n\n"));
            pieces.extend(read(plan));
        }
        pieces
    }

    /// What a person can do.
    fn hint(&self) -> Vec<StyledText> {
        let waits = self.waits.as_ref().map(|waits| {
            let (after, denied_in) = (span(waits.after), span(waits.denied_in));
            format!("⏳ It has waited for {after} and is denied in {denied_in}.")
        });
        let hint = match (&self.chosen, self.choice()) {
            (Some(_), _) => "☑️ Noted; the other questions wait for your answer.",
            (None, Some(choice)) if choice.multi_select => {
                "Choose any of them and press Done, or reply with an answer of your own."
            }
            (None, Some(_)) => "Choose one, or reply with an answer of your own.",
            (None, None) => "Reply to say no and what to do instead.",
        };
        let words = waits.into_iter().chain([hint.to_owned()]);
        words.flat_map(|words| [plain("\n\n"), piece(Style::ITALIC, words)]).collect()
    }

    /// The buttons, row by row; none once nothing is left to press.
    fn buttons(&self) -> Vec<Vec<Button>> {
        if self.closed.is_some() || self.chosen.is_some() {
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

/// Returns what the call would do in the call's own words: a line that explains it is not enough to decide
/// by. It is the command, or each argument on a line of its own.
fn arguments(question: &Question) -> Option<String> {
    let QuestionKind::Permission { input } = &question.kind else { return None };
    let input = input.as_object()?;
    if let Some(command) = input.get("command").and_then(Value::as_str) {
        return Some(command.to_owned());
    }
    let line = |(key, value): (&String, &Value)| match value.as_str() {
        Some(text) => format!("{key}: {text}"),
        None => format!("{key}: {value}"),
    };
    let lines: Vec<String> =
        input.iter().filter(|(key, _)| *key != "description").map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn bold(words: impl Into<String>) -> StyledText {
    piece(Style { bold: true, ..Style::PLAIN }, words)
}

fn plain(words: impl Into<String>) -> StyledText {
    piece(Style::PLAIN, words)
}

/// When it was decided.
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
