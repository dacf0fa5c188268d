//! Does what a person does beyond the recorded one, in the way in which Telegram delivers it.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clitape_judge::observation::{FurtherAct, InterludeKind, RestartMoment};

use super::{Drive, RunContext};
use crate::chat_server::PersonText;
use crate::subject::deed::{TextAnswer, WrittenAnswer, long_prompt};
use crate::subject::dialogue::Act;
use crate::subject::log::Played;
use crate::subject::persons::buttons;

/// The time between two messages of a prompt that a client splits.
const SPLIT: Duration = Duration::from_millis(100);
/// The photos of an album.
const PHOTOS: usize = 2;
/// The time in which a text that answers a question has an effect; then the person presses a button.
const EFFECT: Duration = Duration::from_secs(5);

impl Drive<'_> {
    /// Writes the prompt of the recording.
    pub(super) fn write_prompt(&mut self) {
        let prompt = &self.job.dialogue.prompt;
        match self.shared.deed {
            Some(FurtherAct::LongPrompt) => {
                self.turn += 1;
                for (number, part) in
                    long_prompt(prompt, &|text| self.marked(text)).iter().enumerate()
                {
                    if number > 0 {
                        std::thread::sleep(SPLIT);
                    }
                    self.write(part);
                }
            }
            Some(FurtherAct::StopAtOnce) => {
                self.say(prompt);
                if let Some(stop) = &self.spec.stop {
                    self.write(&self.chat.fill(stop));
                }
            }
            Some(FurtherAct::Album) => {
                self.turn += 1;
                let caption = self.marked(prompt);
                // As for a text, a full chat ends the run.
                let _ = self
                    .chat
                    .write(PersonText { photos: PHOTOS, ..PersonText::of(&caption, None) });
            }
            Some(FurtherAct::Reply) => {
                self.turn += 1;
                let (text, reply_to) = (self.marked(prompt), self.chat.last_before());
                let _ = self.chat.write(PersonText { reply_to, ..PersonText::of(&text, None) });
            }
            _ => self.say(prompt),
        }
    }

    /// Edits the prompt once its turn is in the middle.
    pub(super) fn edit_prompt(&mut self, played: &Played) {
        let is_due = self.shared.deed == Some(FurtherAct::Edit)
            && !self.shared.is_cut.load(Ordering::Relaxed)
            && self.is_in_midst(played);
        if is_due {
            self.shared.is_cut.store(true, Ordering::Relaxed);
            let text = self.marked(&format!("{} Be brief.", self.job.dialogue.prompt));
            self.chat.edit_first(&text);
        }
    }

    /// Presses the button that means yes from now on, if the person does so once and there is one.
    pub(super) fn press_always(&mut self) -> bool {
        let always = &self.spec.press.always;
        let is_due = self.shared.deed == Some(FurtherAct::AllowAlways)
            && !self.shared.is_cut.load(Ordering::Relaxed);
        let is_pressed = is_due && self.press(|label| always.is_match(label));
        if is_pressed {
            self.shared.is_cut.store(true, Ordering::Relaxed);
        }
        is_pressed
    }

    /// Returns whether the person leaves a question alone until `claude` waits for its answer, because something else comes
    /// at that moment: what `claude` prints after it asks must not be taken for the effect of a text.
    pub(super) fn waits_for_question(&self, act: &Act, played: &Played) -> bool {
        let is_at_question = self.shared.deed == Some(FurtherAct::AnswerByText)
            || matches!(
                self.shared.until,
                Some(
                    InterludeKind::Restart(RestartMoment::MidQuestion)
                        | InterludeKind::Person(FurtherAct::MessageAtQuestion)
                )
            );
        is_at_question
            && matches!(act, Act::Answer { .. } | Act::Choose(_))
            && self.shared.written().is_none()
            && played.waits_for.is_none()
    }

    /// Answers the first question by a text in place of a press, and waits whether that has an effect. `None` if the
    /// person presses a button.
    pub(super) fn answered_by_text(
        &mut self,
        act: &Act,
        played: &Played,
        is_late: bool,
    ) -> Option<TextAnswer> {
        let text = match act {
            _ if self.shared.deed != Some(FurtherAct::AnswerByText) => return None,
            Act::Answer { allows: true, .. } => "yes",
            Act::Answer { allows: false, .. } => "no",
            Act::Choose(labels) => labels.first()?,
            Act::Say(_) | Act::Stop => return None,
        };
        let now = self.begin.elapsed();
        let known = self.shared.written();
        let Some(mut written) = known else {
            if is_late || !buttons(&self.entries).is_empty() {
                let printed = played.printed;
                self.shared.set_written(WrittenAnswer {
                    text: text.to_owned(),
                    at: now,
                    until: now,
                    printed,
                    is_taken: false,
                    is_over: false,
                });
                self.write(text);
            }
            return Some(TextAnswer::Open);
        };
        if written.is_over {
            return None;
        }
        written.is_taken = played.printed > written.printed || played.turn_ended;
        written.is_over = written.is_taken || now - written.at >= EFFECT;
        written.until = now;
        let answer = match (written.is_taken, written.is_over) {
            (true, _) => Some(TextAnswer::Taken),
            (_, true) => None,
            _ => Some(TextAnswer::Open),
        };
        self.shared.set_written(written);
        answer
    }
}

impl RunContext<'_> {
    /// Returns the answer that the person wrote in place of a press.
    pub(crate) fn written(&self) -> Option<WrittenAnswer> {
        // A poisoned lock is safe: setting a value can't panic.
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_written(&self, written: WrittenAnswer) {
        // A poisoned lock is safe: setting a value can't panic.
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
    }
}
