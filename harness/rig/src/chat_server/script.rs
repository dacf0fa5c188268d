//! Plays a script of a person's acts.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::person::{self, PressTarget, shows};
use super::script_file::PersonScript;
use super::shared::Shared;

/// Does the steps of a script once the bot is ready. A step that fails ends the script with a line in the log.
pub(super) async fn play(shared: Arc<Shared>, script: PersonScript) {
    wait_until(&shared, None, |shared| shared.read(|state| state.updates.is_ready())).await;
    for (index, step) in script.steps.into_iter().enumerate() {
        let number = index + 1;
        let chat = step.chat;
        if let Some(when) = &step.when {
            let within = when.within();
            let is_shown = |shared: &Shared| shared.read(|state| shows(state, chat, &when.shows));
            if !wait_until(&shared, Some(within), is_shown).await {
                let words = format!(
                    "step {number} of the script: chat {chat} did not show {:?} within {} s; the \
                     script ends here",
                    when.shows,
                    within.as_secs()
                );
                shared.change(|state| state.note(&words));
                return;
            }
        }
        sleep(Duration::from_millis(step.after_ms)).await;
        let done = shared.change(|state| match (&step.say, &step.press) {
            (Some(text), _) => person::say(state, chat, step.topic, text).map(|_| ()),
            (None, Some(label)) => person::press(state, chat, PressTarget::Last, label),
            (None, None) => Ok(()),
        });
        if let Err(error) = done {
            let words = format!("step {number} of the script: {error}; the script ends here");
            shared.change(|state| state.note(&words));
            return;
        }
    }
    shared.change(|state| state.note("the script is done"));
}

/// Waits until a condition is true, and returns whether that came in time.
async fn wait_until(
    shared: &Shared,
    within: Option<Duration>,
    holds: impl Fn(&Shared) -> bool,
) -> bool {
    let mut changes = shared.changes();
    // A time that is too large for the clock has no end.
    let end = within.and_then(|within| Instant::now().checked_add(within));
    loop {
        changes.borrow_and_update();
        if holds(shared) {
            return true;
        }
        let changed = match end {
            None => changes.changed().await.is_ok(),
            Some(end) => {
                let left = end.saturating_duration_since(Instant::now());
                timeout(left, changes.changed()).await.is_ok_and(|changed| changed.is_ok())
            }
        };
        if !changed {
            return false;
        }
    }
}
