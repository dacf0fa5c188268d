//! The Telegram channel: a draft that grows while the agent works and becomes the answer in place.
//!
//! Events change the compositor; the draft task shows what it composes; the final message takes the
//! draft's place. A person sees one message a turn ([V3](crate::rules::V3)), and more only when the
//! answer is longer than a message. The same code serves other chats: a [`Profile`] says how they
//! write.

#[cfg(feature = "telegram-http")]
mod address;
pub(crate) mod api;
mod caller;
pub(crate) mod compose;
mod draft;
mod final_message;
#[cfg(feature = "telegram-http")]
mod http;
pub(crate) mod markup;
pub(crate) mod page;
mod typing;

use std::sync::{Arc, Mutex};
use std::time::Duration;

#[cfg(feature = "telegram-http")]
pub use address::AddressError;
pub use api::{BotApi, BotApiError, BotCall, BotMethod, CallFuture, SentMessage, SignalFuture};
use caller::Caller;
use compose::{Compositor, TextLane};
use draft::{Draft, ShownDraft};
#[cfg(feature = "fuzzing")]
pub use http::fuzzing;
#[cfg(feature = "telegram-http")]
pub use http::{BotToken, HttpApi, HttpSettings, HttpSetupError, TELEGRAM_SERVER};
use typing::Typing;

use crate::bridge::{Callback, CallbackError, Channel, Delivery, FinishFuture};
use crate::bus::{Tool, lock};
use crate::ending::RunEnding;
use crate::limits::ChatLimits;
use crate::notice::Notice;
use crate::profile::{self, Profile};

/// The shortest throttle window (V4).
const THROTTLE_FLOOR: Duration = Duration::from_millis(250);

/// What a person sees before the answer is whole ([V1](crate::rules::V1)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DraftMode {
    /// Nothing.
    Off,
    /// The answer as it grows, and the tool lines.
    #[default]
    Partial,
    /// The answer block by block, and the tool lines. A block shows when nothing more can come into
    /// it: a paragraph or a list when a blank line or something else follows, a heading when its
    /// line ends, a block of code when its fence closes, and all of them when a tool is called. A
    /// block is worth a message however short it is.
    Block,
    /// The tool lines.
    Progress,
}

/// How the channel behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TelegramSettings {
    /// What a person sees before the answer is whole.
    pub mode: DraftMode,
    /// At most one call in this time while the draft grows; under 250 ms counts as 250 ms
    /// ([V4](crate::rules::V4)).
    pub throttle: Duration,
    /// Whether reasoning shows, in italics, among tool lines with the time of day
    /// ([V9](crate::rules::V9)). It is never part of the final message, and never shows in
    /// [`Mode::Off`].
    pub reasoning: bool,
    /// The time since midnight when the channel is made, where the reader is; tool lines count from
    /// it ([V9](crate::rules::V9)).
    pub time_of_day: Duration,
    /// How the chat service writes ([V10](crate::rules::V10)).
    pub profile: &'static Profile,
    /// How long the chat's server is waited for.
    pub limits: ChatLimits,
}

impl Default for TelegramSettings {
    fn default() -> Self {
        Self {
            mode: DraftMode::default(),
            throttle: Duration::from_millis(1_000),
            reasoning: false,
            time_of_day: Duration::ZERO,
            profile: &profile::TELEGRAM,
            limits: ChatLimits::default(),
        }
    }
}

/// A chat on Telegram. Its calls are made on the current tokio runtime.
#[derive(Debug)]
pub struct Telegram {
    settings: TelegramSettings,
    caller: Arc<Caller>,
    compositor: Arc<Mutex<Compositor>>,
    draft: Option<Draft>,
    typing: Option<Typing>,
}

impl Telegram {
    /// A chat that `api` reaches, for one turn.
    pub fn new(settings: TelegramSettings, api: Arc<dyn BotApi>) -> Self {
        Self {
            settings,
            caller: Arc::new(Caller::new(api, settings.limits)),
            compositor: Arc::new(Mutex::new(Compositor::new(settings))),
            draft: None,
            typing: None,
        }
    }

    /// Makes `change`, which says whether the draft may look different, and shows the draft.
    fn compose(&mut self, change: impl FnOnce(&mut Compositor) -> bool) {
        if self.settings.mode == DraftMode::Off || !change(&mut lock(&self.compositor)) {
            return;
        }
        let throttle = self.settings.throttle.max(THROTTLE_FLOOR);
        self.draft
            .get_or_insert_with(|| {
                Draft::start(self.caller.clone(), self.compositor.clone(), throttle)
            })
            .update();
    }

    /// Ends the typing sign and the draft, so that nothing can come after the final message.
    async fn end_draft(&mut self) -> ShownDraft {
        let (draft, typing) = (self.draft.take(), self.typing.take());
        let draft = async {
            match draft {
                Some(draft) => draft.end().await,
                None => ShownDraft::default(),
            }
        };
        let typing = async {
            if let Some(typing) = typing {
                typing.end().await;
            }
        };
        tokio::join!(draft, typing).0
    }
}

impl Channel for Telegram {
    fn text<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        self.compose(|compositor| compositor.text(TextLane::Answer, text));
        Box::pin(async { Ok(()) })
    }

    fn thinking<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        self.compose(|compositor| compositor.text(TextLane::Thought, text));
        Box::pin(async { Ok(()) })
    }

    fn tool<'a>(&'a mut self, tool: &'a Tool) -> Callback<'a> {
        self.compose(|compositor| {
            compositor.tool(tool);
            true
        });
        Box::pin(async { Ok(()) })
    }

    fn tool_result<'a>(&'a mut self, result: &'a Tool) -> Callback<'a> {
        self.tool(result)
    }

    fn tools_dropped<'a>(&'a mut self, calls: &'a [String]) -> Callback<'a> {
        self.compose(|compositor| {
            compositor.drop_calls(calls);
            true
        });
        Box::pin(async { Ok(()) })
    }

    fn notice<'a>(&'a mut self, notice: &'a Notice) -> Callback<'a> {
        self.compose(|compositor| compositor.notice(notice));
        Box::pin(async { Ok(()) })
    }

    fn typing(&mut self, on: bool) {
        self.typing = on.then(|| Typing::start(self.caller.clone()));
    }

    fn leave(&mut self) -> Callback<'_> {
        Box::pin(async move {
            let shown = self.end_draft().await;
            let page = lock(&self.compositor).last_draft();
            let (Some(page), Some(_)) = (page, shown.message_id) else { return Ok(()) };
            match final_message::deliver(&self.caller, shown, vec![page]).await {
                Delivery::Failed { reason } => Err(CallbackError::new(reason)),
                _ => Ok(()),
            }
        })
    }

    fn finish<'a>(&'a mut self, ending: &'a RunEnding) -> FinishFuture<'a> {
        Box::pin(async move {
            let shown = self.end_draft().await;
            let pages = page::pages(&final_message::final_text(ending), self.settings.profile);
            final_message::deliver(&self.caller, shown, pages).await
        })
    }
}

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
pub(crate) mod tests;
