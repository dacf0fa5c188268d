//! The session's id, model and CLI version, emitted when they first appear and when they change.

use crate::emitter::Emitter;
use crate::event::Event;
use crate::json::{self, JsonField, RawJson};

/// The session as it was last emitted.
#[derive(Debug, Default)]
pub(crate) struct SessionFacts {
    id: Option<String>,
    model: Option<String>,
    version: Option<String>,
    /// The field as the last record printed it, to skip records that repeat it.
    printed: String,
}

impl SessionFacts {
    /// Returns the last id.
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Reads the id of a record, and emits the session if it is new or has changed. `init` is the
    /// model and the version of an `init` record.
    pub(crate) fn see(
        &mut self,
        fields: [JsonField<'_>; 4],
        init: Option<[JsonField<'_>; 2]>,
        emitter: &mut Emitter<'_>,
    ) {
        let repeats =
            |field: Option<RawJson<'_>>| field.is_some_and(|raw| raw.get() == self.printed);
        if init.is_none() && repeats(fields[0]) {
            return;
        }
        let Some((field, id)) = fields.into_iter().find_map(|f| Some((f?, json::trimmed(f)?)))
        else {
            return;
        };
        if init.is_none() && field.get() == self.printed {
            return;
        }
        field.get().clone_into(&mut self.printed);
        let [model, version] =
            init.unwrap_or_default().map(|f| json::trimmed(f).map(|name| name.into_owned()));
        let same_id = self.id.as_deref() == Some(&*id);
        let says_more =
            model.is_some() && model != self.model || version.is_some() && version != self.version;
        if same_id && !says_more {
            return;
        }
        if same_id {
            self.model = model.or_else(|| self.model.take());
            self.version = version.or_else(|| self.version.take());
        } else {
            (self.model, self.version) = (model, version);
            self.id = Some(id.clone().into_owned());
        }
        emitter.emit(Event::Session {
            session_id: id,
            model: self.model.as_deref().map(Into::into),
            cli_version: self.version.as_deref().map(Into::into),
        });
    }
}
