//! What a person reads when a run is over.

use clitape_recording::chat::ChatView;
use clitape_recording::trace::Entry;

use crate::case::model_text;
use crate::words::letters;

/// What a person finally reads: the text of each message that is left in the chat, without its markup, or the text of
/// the model in an editor.
pub fn finally_read(entries: &[Entry]) -> Vec<String> {
    let view = ChatView::after(entries);
    let messages = view.messages().map(|message| message.plain_text().trim().to_owned());
    let told: String = entries.iter().filter_map(model_text).collect();
    messages.chain((!told.is_empty()).then_some(told)).collect()
}

/// Whether two texts say the same to a person, but for numbers: many gateways show how long something took.
pub fn says_the_same(one: &str, other: &str) -> bool {
    let words = |text: &str| -> String {
        letters(text).chars().filter(|letter| !letter.is_numeric()).collect()
    };
    words(one) == words(other)
}
