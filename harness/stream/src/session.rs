//! The session's id, model and CLI version, told at first sight and on change.

use crate::event::Event;
use crate::json::{self, Field, Raw};
use crate::tell::Tell;

/// The session as it was last told.
#[derive(Debug, Default)]
pub(crate) struct Session {
    id: Option<String>,
    model: Option<String>,
    version: Option<String>,
    /// The field as it was last printed, to skip the records that repeat it.
    printed: String,
}

impl Session {
    /// The last id seen.
    pub(crate) fn into_id(self) -> Option<String> {
        self.id
    }

    /// Looks at a record's id; `init` are the model and the version that an `init` record names.
    /// Says whether another id was printed than in the record before.
    pub(crate) fn see(
        &mut self,
        fields: [Field<'_>; 4],
        init: Option<[Field<'_>; 2]>,
        tell: &mut Tell<'_>,
    ) -> bool {
        let repeats = |field: Option<Raw<'_>>| field.is_some_and(|raw| raw.get() == self.printed);
        if init.is_none() && repeats(fields[0]) {
            return false;
        }
        let Some((field, id)) = fields.into_iter().find_map(|f| Some((f?, json::word(f)?))) else {
            return false;
        };
        if init.is_none() && field.get() == self.printed {
            return false;
        }
        field.get().clone_into(&mut self.printed);
        let [model, version] =
            init.unwrap_or_default().map(|f| json::word(f).map(|name| name.into_owned()));
        let same_id = self.id.as_deref() == Some(&*id);
        let says_more =
            model.is_some() && model != self.model || version.is_some() && version != self.version;
        if same_id && !says_more {
            return true;
        }
        if same_id {
            self.model = model.or_else(|| self.model.take());
            self.version = version.or_else(|| self.version.take());
        } else {
            (self.model, self.version) = (model, version);
            self.id = Some(id.into_owned());
        }
        tell.event(Event::Session {
            session_id: self.id.as_deref().unwrap_or_default().into(),
            model: self.model.as_deref().map(Into::into),
            cli_version: self.version.as_deref().map(Into::into),
        });
        true
    }
}
