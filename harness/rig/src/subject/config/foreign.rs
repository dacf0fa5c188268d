//! Finds keys of a subject that belong to another kind, and unknown placeholders in the others.

use super::{Complaint, FirstStepFile, SubjectFile, complain};
use crate::subject::names::suggestion;
use crate::subject::placeholders::{PLACES, unknown_place};
use crate::subject::spec::SubjectKind;

impl SubjectFile {
    /// Returns the first key that belongs to another kind, with that kind.
    pub(super) fn foreign_key(&self, kind: SubjectKind) -> Option<(&'static str, SubjectKind)> {
        let chat = [
            ("host", self.host.is_some()),
            ("ready", self.ready.is_some()),
            ("reach", self.reach.is_some()),
            ("stop", self.stop.is_some()),
            ("press", self.press.is_some()),
            ("chats", self.chats.is_some()),
            ("chat", self.chat.is_some()),
            ("starts", self.starts.is_some()),
            ("first", self.first.is_some()),
            ("own_prompts", self.own_prompts.is_some()),
        ];
        let person = [
            ("folder", self.folder.is_some()),
            ("say", self.say.is_some()),
            ("writes_during_turn", self.writes_during_turn.is_some()),
            ("idle_s", self.idle_s.is_some()),
            ("at_once", self.at_once.is_some()),
            ("warm_up", self.warm_up.is_some()),
            ("known", self.known.is_some()),
            ("files", self.files.is_some()),
            ("checkout", self.checkout.is_some()),
            ("build", self.build.is_some()),
            ("values", self.values.is_some()),
            ("claude_first", self.claude_first.is_some()),
        ];
        // Promises about the contents of a chat, which a replay has as well.
        let promises = [
            ("tools_shown", self.tools_shown.is_some()),
            ("progress_shown", self.progress_shown.is_some()),
            ("questions_asked", self.questions_asked.is_some()),
            ("one_message", self.one_message.is_some()),
            ("silence_kept", self.silence_kept.is_some()),
        ];
        let is_replay = kind == SubjectKind::Replay;
        let promises = promises.into_iter().filter(|_| !is_replay);
        let chat = chat.into_iter().chain(promises);
        let chat = chat.map(|(key, is_there)| (key, is_there, SubjectKind::Gateway));
        // Gateways and agents both have these keys.
        let other = if kind == SubjectKind::Agent { kind } else { SubjectKind::Gateway };
        let person = person.map(|(key, is_there)| (key, is_there, other));
        let parser = [("kinds", self.kinds.is_some()), ("started", self.started.is_some())];
        let parser = parser.map(|(key, is_there)| (key, is_there, SubjectKind::Parser));
        let mut keys = chat.chain(person).chain(parser);
        keys.find(|(_, is_there, owner)| *is_there && *owner != kind)
            .map(|(key, _, owner)| (key, owner))
    }

    /// Complains about a placeholder that does not exist, and about a key of `values` that is the name of an existing
    /// one.
    pub(super) fn check_places(&self, command: &[String]) -> Result<(), Complaint> {
        let own: Vec<&str> = self.values.iter().flatten().map(|(name, _)| name.as_str()).collect();
        for name in &own {
            let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            if !is_name || name.is_empty() || PLACES.contains(name) {
                let what =
                    "is no name for a placeholder of its own; take other small letters and _";
                return complain("values", format!("`{name}` {what}"));
            }
        }
        let install = self.install.iter().map(|install| ("install", &install.npm));
        let texts = command.iter().map(|text| ("command", text));
        let first = self.claude_first.iter().flatten().map(|text| ("claude_first", text));
        let texts = texts.chain(first);
        let texts = texts.chain(self.env.values().map(|text| ("env", text)));
        let texts = texts.chain(self.folder.iter().map(|text| ("folder", text))).chain(install);
        let texts = texts.chain(self.say.iter().map(|text| ("say", text)));
        let texts = texts.chain(self.stop.iter().map(|text| ("stop", text)));
        let first = self.first.iter().flatten().filter_map(FirstStepFile::text);
        let texts = texts.chain(first.map(|text| ("first", text)));
        for (key, text) in texts {
            if let Some(name) = unknown_place(text, &own) {
                let places = PLACES.into_iter().chain(own.iter().copied());
                let hint = suggestion(name, places).unwrap_or_else(|| {
                    let all: Vec<String> =
                        PLACES.iter().map(|name| format!("{{{name}}}")).collect();
                    format!("there are {}", all.join(", "))
                });
                return complain(key, format!("there is no placeholder `{{{name}}}`; {hint}"));
            }
        }
        Ok(())
    }
}
