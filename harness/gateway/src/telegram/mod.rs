//! The Telegram channel: a draft that grows while the agent works and becomes the answer in place.
//!
//! Events change the compositor; the draft task shows what it composes; the final message takes the
//! draft's place. A person sees one message a turn ([V3](crate::rules::V3)), and more only when the
//! answer is longer than a message. The same code serves other chats: a
//! [`Profile`](crate::profile::Profile) says how they write.

pub(crate) mod api;
mod ask;
mod caller;
pub(crate) mod compose;
mod draft;
#[cfg(feature = "telegram-http")]
mod http;
pub(crate) mod markup;
pub(crate) mod page;
mod settings;

use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use api::{
    ActionKind, BotApi, BotApiError, BotCall, BotMethod, Button, CallFuture, FILE_NAME,
    PersonAction, SentMessage, SignalFuture,
};
use ask::QuestionBoard;
pub use ask::{Keyboard, Pressing};
use caller::{Caller, Typing};
use compose::{Compositor, TextLane};
use draft::{Draft, ShownDraft};
#[cfg(feature = "fuzzing")]
pub use http::fuzzing;
#[cfg(feature = "telegram-http")]
pub use http::{AddressError, TELEGRAM_SERVER};
#[cfg(feature = "telegram-http")]
pub use http::{BotToken, HttpApi, HttpSettings, HttpSetupError};
pub use settings::{DraftMode, TelegramSettings};

use crate::bus::{Tool, lock};
use crate::channel::{Callback, CallbackError, Channel, Delivery, FinishFuture};
use crate::ending::RunEnding;
use crate::notice::Notice;
use crate::question::{Question, QuestionClosed, QuestionWaits};

/// The shortest throttle window (V4).
const THROTTLE_FLOOR: Duration = Duration::from_millis(250);

/// A chat on Telegram. Its calls are made on the current tokio runtime.
#[derive(Debug)]
pub struct Telegram {
    settings: TelegramSettings,
    caller: Arc<Caller>,
    compositor: Arc<Mutex<Compositor>>,
    draft: Option<Draft>,
    typing: Option<Typing>,
    board: QuestionBoard,
    /// Questions that are open and the calls that wait for them.
    holding: Vec<(String, String)>,
}

impl Telegram {
    /// A chat that `api` reaches, for one turn.
    pub fn new(settings: TelegramSettings, api: Arc<dyn BotApi>) -> Self {
        let caller = Arc::new(Caller::new(api, settings.limits, settings.reply_to));
        Self {
            settings,
            board: QuestionBoard::new(settings.profile, caller.clone()),
            caller,
            compositor: Arc::new(Mutex::new(Compositor::new(settings))),
            draft: None,
            typing: None,
            holding: Vec::new(),
        }
    }

    /// Returns the keyboard of the turn's questions, which takes the presses of a person
    /// ([Q2](crate::rules::Q2)). Take it before the channel is handed to a run.
    pub fn keyboard(&self) -> Keyboard {
        self.board.keyboard()
    }

    /// Makes `change`, which returns whether the draft may look different, and shows the draft.
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

    /// Ends the typing sign, the questions and the draft, so that the final message is the last
    /// one.
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
        tokio::join!(draft, typing, self.board.end()).0
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

    fn question<'a>(&'a mut self, question: &'a Question) -> Callback<'a> {
        self.board.ask(question);
        if let Some(call) = &question.call {
            self.holding.push((question.id.clone(), call.clone()));
            self.compose(|compositor| {
                compositor.hold(call, true);
                true
            });
        }
        Box::pin(async { Ok(()) })
    }

    fn question_waits<'a>(&'a mut self, waits: &'a QuestionWaits) -> Callback<'a> {
        self.board.remind(waits);
        Box::pin(async { Ok(()) })
    }

    fn question_closed<'a>(&'a mut self, closed: &'a QuestionClosed) -> Callback<'a> {
        let shown = self.board.close(closed).map_err(CallbackError);
        let place = self.holding.iter().position(|(id, _)| *id == closed.id);
        if let Some((_, call)) = place.map(|place| self.holding.remove(place)) {
            self.compose(|compositor| {
                compositor.hold(&call, false);
                true
            });
        }
        Box::pin(std::future::ready(shown))
    }

    fn heard<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        self.compose(|compositor| {
            compositor.heard(text);
            true
        });
        Box::pin(async { Ok(()) })
    }

    fn typing(&mut self, on: bool) {
        self.typing = on.then(|| Typing::start(self.caller.clone()));
    }

    fn leave(&mut self) -> Callback<'_> {
        Box::pin(async move {
            let shown = self.end_draft().await;
            let (has_news, page) = {
                let mut compositor = lock(&self.compositor);
                (compositor.has_news(), compositor.last_draft())
            };
            let is_shown = shown.message_id.is_some() || has_news;
            let Some(page) = page.filter(|_| is_shown) else { return Ok(()) };
            match draft::deliver_final(&self.caller, shown, vec![page]).await {
                Delivery::Failed { reason } => Err(CallbackError::new(reason)),
                _ => Ok(()),
            }
        })
    }

    fn finish<'a>(&'a mut self, ending: &'a RunEnding) -> FinishFuture<'a> {
        Box::pin(async move {
            let shown = self.end_draft().await;
            let pages = page::pages(&draft::final_text(ending), self.settings.profile);
            draft::deliver_final(&self.caller, shown, pages).await
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
