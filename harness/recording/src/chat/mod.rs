//! The chat of a recording: one fold from its calls to what a person sees.

mod view;

pub use view::{CALL_HTML, ChatChange, ChatView, SeenMessage};
