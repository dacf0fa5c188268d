//! Where a golden and a replay part as a person sees it: the chat that was expected beside the one that came.

use clitape_recording::chat::{ChatChange, ChatView, SeenMessage};
use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::markup::visible;
use clitape_recording::trace::Entry;
use serde::{Deserialize, Serialize};

use super::pairs::Pair;

/// The number of messages that are kept of each side, from the first one that differs.
const MESSAGES: usize = 3;

/// What a person was to see in a chat, and what a person sees, at the first moment at which the two differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatDiff {
    /// Virtual milliseconds since the replay began; absent where times are left aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The number of messages above, which are the same on both sides and left out.
    pub above: usize,
    /// The messages that were expected, each as its lines; few of many.
    pub expected: Vec<Vec<String>>,
    /// The messages that came, each as its lines; few of many.
    pub got: Vec<Vec<String>>,
}

impl ChatDiff {
    /// Finds the moment at which the chats of two lanes first show something else; `None` where they never do.
    /// `is_timed` says whether the times of entries mean something.
    pub(crate) fn find(
        [old, new]: [&[&Entry]; 2],
        pairs: &[Pair],
        is_timed: bool,
        profile: ChatProfile,
    ) -> Option<Self> {
        let mut views = [ChatView::default(), ChatView::default()];
        for pair in pairs {
            let (old, new) = match *pair {
                Pair::Both(i, j) => (Some(old[i]), Some(new[j])),
                Pair::Old(i) => (Some(old[i]), None),
                Pair::New(j) => (None, Some(new[j])),
            };
            let mut is_changed = false;
            for (view, entry) in views.iter_mut().zip([old, new]) {
                is_changed |= entry.is_some_and(|entry| view.apply(0, entry) == ChatChange::Text);
            }
            if is_changed && let Some(above) = first_difference(&views) {
                let at = new.or(old).filter(|_| is_timed).map(|entry| entry.at);
                return Some(Self::of(&views, above, at, profile));
            }
        }
        None
    }

    /// Compares what a person ends up reading; `None` where it is the same.
    pub(crate) fn at_end([old, new]: [&[&Entry]; 2], profile: ChatProfile) -> Option<Self> {
        let views = [old, new].map(|entries| {
            let mut view = ChatView::default();
            for (number, entry) in entries.iter().enumerate() {
                view.apply(number, entry);
            }
            view
        });
        Some(Self::of(&views, first_difference(&views)?, None, profile))
    }

    /// The chats from the message with the index `above` on.
    fn of(views: &[ChatView; 2], above: usize, at: Option<u64>, profile: ChatProfile) -> Self {
        let shown = |lines: &dyn Fn(&SeenMessage) -> String| {
            views.each_ref().map(|view| {
                let messages = view.messages().skip(above).take(MESSAGES);
                let lines = messages.map(|message| split(&lines(message)));
                lines.collect::<Vec<_>>()
            })
        };
        let read = shown(&|message| {
            let spans = message.spans(profile).into_iter();
            spans.map(|span| span.text).collect()
        });
        // Where only the marks differ, they have to be seen.
        let [expected, got] = match read[0] == read[1] {
            true => shown(&|message| visible(&message.text)),
            false => read,
        };
        Self { at, above, expected, got }
    }

    /// All lines, to make them safe to print.
    pub(crate) fn lines_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.expected.iter_mut().chain(&mut self.got).flatten()
    }
}

fn split(text: &str) -> Vec<String> {
    text.split('\n').map(str::to_owned).collect()
}

/// The index of the first message that differs, if one does.
fn first_difference(views: &[ChatView; 2]) -> Option<usize> {
    let [mut old, mut new] = views.each_ref().map(ChatView::messages);
    let same = |a: &SeenMessage, b: &SeenMessage| a.text == b.text && a.buttons == b.buttons;
    for number in 0.. {
        match (old.next(), new.next()) {
            (None, None) => return None,
            (Some(a), Some(b)) if same(a, b) => {}
            _ => return Some(number),
        }
    }
    None
}
