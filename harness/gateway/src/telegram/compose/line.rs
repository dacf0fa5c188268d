//! The line of one tool call: what it is, and how it stands ([V2](crate::rules::V2)).
//!
//! Where reasoning shows, a line tells the time the call began, and while it runs, every twenty
//! seconds how long it has (V9, openclaw#82285).

use std::time::Duration;

use tokio::time::Instant;

use super::super::TelegramSettings;
use super::super::markup::{Style, piece};
use super::super::page::first_page;
use super::layout::lines_limit;

/// Arrows before the line of a subagent's tool, at most.
const DEPTH_LIMIT: u32 = 3;
/// How often the time of a running call is shown.
const TICK: Duration = Duration::from_secs(20);
/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// The line of one tool call. A turn may have very many, so that it is small.
#[derive(Debug)]
pub(super) struct ToolLine {
    /// The id of the call; words that are no call's have none.
    pub(super) id: Box<str>,
    pub(super) title: Box<str>,
    pub(super) depth: u32,
    pub(super) state: ToolLineState,
    pub(super) began: Instant,
    /// What it looked like last, and after how many ticks.
    shown: Option<Box<(u32, String)>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ToolLineState {
    Running,
    /// A person is asked whether it may run.
    Waiting,
    Done,
    Failed,
    Unknown,
}

impl ToolLine {
    /// The line of a call that begins now.
    pub(super) fn new(id: &str, title: &str, depth: u32) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            depth,
            state: ToolLineState::Running,
            began: Instant::now(),
            shown: None,
        }
    }

    /// A line of words that are no call's.
    pub(super) fn of_no_call(words: &str) -> Self {
        Self { state: ToolLineState::Done, ..Self::new("", words, 0) }
    }

    /// Forgets what it looked like.
    pub(super) fn forget_look(&mut self) {
        self.shown = None;
    }

    /// Whether the call has not ended.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, ToolLineState::Running | ToolLineState::Waiting)
    }

    /// When a running call shows its time again.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        (self.state == ToolLineState::Running).then(|| self.began + TICK * (self.ticks() + 1))
    }

    fn ticks(&self) -> u32 {
        let ticks = self.began.elapsed().as_secs() / TICK.as_secs();
        u32::try_from(ticks).unwrap_or(u32::MAX - 1)
    }

    /// Whether it shows a time that runs.
    pub(super) fn has_ticks(&self, settings: &TelegramSettings) -> bool {
        settings.reasoning && self.state == ToolLineState::Running
    }

    /// Writes the line again if it has changed, and says whether nothing was known of how it looked; the channel is at work
    /// since `started`.
    pub(super) fn write(&mut self, settings: &TelegramSettings, started: Instant) -> bool {
        let ticks = if self.has_ticks(settings) { self.ticks() } else { 0 };
        let was_unknown = self.shown.is_none();
        if self.shown.as_ref().is_none_or(|shown| shown.0 != ticks) {
            self.shown = Some(Box::new((ticks, self.text(settings, started))));
        }
        was_unknown
    }

    /// The line as it was written last.
    pub(super) fn shown(&self) -> &str {
        self.shown.as_ref().map_or("", |shown| &shown.1)
    }

    /// The line as the profile writes it.
    pub(super) fn text(&self, settings: &TelegramSettings, started: Instant) -> String {
        let began = settings.time_of_day + self.began.saturating_duration_since(started);
        let at = if settings.reasoning { format!("[{}] ", clock(began)) } else { String::new() };
        let arrows: String = (0..self.depth.min(DEPTH_LIMIT)).map(|_| "↳ ").collect();
        let mut pieces = vec![piece(Style::PLAIN, format!("{arrows}{at}{}", self.title))];
        let mark = match self.state {
            ToolLineState::Running if settings.reasoning && self.ticks() > 0 => {
                let ran = TICK * self.ticks();
                Some(format!("{}s — {}", ran.as_secs(), clock(began + ran)))
            }
            ToolLineState::Running => Some("running…".to_owned()),
            ToolLineState::Waiting => Some("⏸️ waits for your answer".to_owned()),
            ToolLineState::Done => None,
            ToolLineState::Failed => Some("⚠️ failed".to_owned()),
            ToolLineState::Unknown => Some("⚠️ no result".to_owned()),
        };
        if let Some(mark) = mark {
            pieces.push(piece(Style::PLAIN, " "));
            pieces.push(piece(Style::ITALIC, mark));
        }
        let limit = lines_limit(settings.profile);
        first_page(&pieces, settings.profile, limit).map_or_else(String::new, |(line, _)| line)
    }
}

/// `HH:MM:SS` of a time since midnight.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs() % DAY;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}
