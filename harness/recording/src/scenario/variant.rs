//! `[[variant]]`: a named outcome of a chat, where timing allows several.

use serde::Deserialize;

use super::channel::ChannelSpec;

/// `[[variant]]`: one more outcome that a chat of the scenario may have.
///
/// Once a chat has a variant, every seeded replay of it must give its golden or one of its variants.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name, the end of its golden's: `sent-whole`. Small letters, digits and hyphens, a letter
    /// first, so that it never looks like a CLI version.
    pub name: String,
    /// The chat's view, as its goldens are named: `telegram-partial`.
    pub view: String,
    /// One sentence: why timing may give it.
    pub about: String,
}

/// The sentence about a mistake in the variants of a scenario with these channels.
pub(super) fn complaint(variants: &[Variant], channels: &[ChannelSpec]) -> Option<String> {
    let chats: Vec<String> = channels
        .iter()
        .filter_map(|channel| match channel {
            ChannelSpec::Telegram(chat) => Some(format!("telegram-{chat}")),
            ChannelSpec::Acp { .. } | ChannelSpec::Sse {} => None,
        })
        .collect();
    variants.iter().enumerate().find_map(|(i, Variant { name, view, about })| {
        let is_same = |other: &Variant| other.name == *name && other.view == *view;
        if !is_name(name) {
            Some(format!(
                "`{name}` is no name of a variant; write small letters, digits and hyphens, a \
                 letter first, such as `sent-whole`"
            ))
        } else if chats.is_empty() {
            Some(format!(
                "variant `{name}` needs a chat; add a [[channel]] of kind \"telegram\", as timing \
                 changes nothing elsewhere"
            ))
        } else if !chats.contains(view) {
            Some(format!(
                "variant `{name}` is of `{view}`, which is no chat of the scenario; write {}",
                chats.join(" or ")
            ))
        } else if about.trim().is_empty() {
            Some(format!("variant `{name}` says nothing in `about`; write why timing may give it"))
        } else if variants[..i].iter().any(is_same) {
            Some(format!("variant `{name}` of `{view}` stands twice; rename or remove one"))
        } else {
            None
        }
    })
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Chat, ChatMode};

    #[track_caller]
    fn check(variants: &[[&str; 3]], channels: &[ChannelSpec], expect: Option<&str>) {
        let variants: Vec<Variant> = variants
            .iter()
            .map(|text| text.map(str::to_owned))
            .map(|[view, name, about]| Variant { name, view, about })
            .collect();
        let got = complaint(&variants, channels);
        match expect {
            None => assert_eq!(got, None),
            Some(part) => assert!(got.as_ref().is_some_and(|it| it.contains(part)), "{got:?}"),
        }
    }

    #[test]
    fn a_variant_has_a_name_a_chat_and_a_reason() {
        let chats = [ChatMode::Partial, ChatMode::Progress]
            .map(|mode| ChannelSpec::Telegram(Chat::of(mode)));
        let partial = "telegram-partial";
        check(&[[partial, "a", "b"], [partial, "a2-b", "b"]], &chats, None);
        check(&[[partial, "a", "b"], ["telegram-progress", "a", "b"]], &chats, None);
        for name in ["", "2.1.329", "2-a", "-a", "A", "a.b", "a/b", "a b", "ä"] {
            check(&[[partial, name, "b"]], &chats, Some("is no name of a variant; write small"));
        }
        let known = "no chat of the scenario; write telegram-partial or telegram-progress";
        for view in ["", "bus", "telegram-off"] {
            check(&[[view, "a", "b"]], &chats, Some(known));
        }
        check(&[["sse", "a", "b"]], &[ChannelSpec::Sse {}], Some("add a [[channel]] of kind"));
        check(&[[partial, "a", " "]], &chats, Some("write why timing may give it"));
        let twice = [[partial, "a", "b"], [partial, "a", "c"]];
        check(&twice, &chats, Some("variant `a` of `telegram-partial` stands twice"));
    }
}
