//! The input of an open call: what came of it, and what was published ([U2](crate::rules::U2)).

use std::sync::Arc;

use clitape_stream::Fields;
use serde_json::{Map, Value};

use crate::display;
use crate::sanitise::sanitise_open_args;

/// What is known of the input of an open call.
#[derive(Debug)]
pub(super) enum CallInput {
    /// More of it may come.
    Growing(Box<GrowingInput>),
    /// The call has started. Its arguments may still be corrected.
    Whole {
        /// The arguments as they came.
        args: Arc<Value>,
        /// The arguments that were published.
        published: Arc<Value>,
    },
}

impl CallInput {
    /// The fields so far, as they came; none where the arguments are no object.
    pub(super) fn fields(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Growing(input) => Some(&input.fields),
            Self::Whole { args, .. } => args.as_object(),
        }
    }

    /// The input to which more fields come.
    pub(super) fn growing(self) -> Box<GrowingInput> {
        let fields = |of: Arc<Value>| match Arc::unwrap_or_clone(of) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        match self {
            Self::Growing(input) => input,
            Self::Whole { args, published } => Box::new(GrowingInput {
                fields: fields(args),
                open: None,
                published: fields(published),
            }),
        }
    }
}

/// A tool's input while it comes.
#[derive(Debug, Default)]
pub(super) struct GrowingInput {
    /// The fields so far, as they came.
    pub(super) fields: Map<String, Value>,
    /// The field whose value has not ended yet.
    pub(super) open: Option<String>,
    /// The part of each field that was published.
    pub(super) published: Map<String, Value>,
}

impl GrowingInput {
    /// Takes fields of the input. Returns what of the input can be shown and was not published yet.
    pub(super) fn take(&mut self, args: &Fields<'_>) -> Map<String, Value> {
        let open = args.open();
        // A field that was open and is not published again has ended.
        let mut fresh = Map::new();
        if let Some(key) = self.open.take()
            && let Some(value) = self.fields.get(&key)
        {
            fresh.insert(key, value.clone());
        }
        fresh.extend(args.to_map());
        let sanitised = sanitise_open_args(&fresh, open);
        self.fields.extend(fresh);
        self.open = open.map(str::to_owned);
        let mut new = Map::new();
        for (key, value) in sanitised {
            if self.published.get(&key) != Some(&value) {
                self.published.insert(key.clone(), value.clone());
                new.insert(key, value);
            }
        }
        new
    }

    /// Returns the line that a person reads, made of the fields that have ended.
    pub(super) fn title(&mut self, name: &str) -> String {
        let mut fields = std::mem::take(&mut self.fields);
        let open = self.open.as_deref().and_then(|key| fields.shift_remove_entry(key));
        let whole = Value::Object(fields);
        let title = display::title(name, &whole);
        if let Value::Object(mut fields) = whole {
            fields.extend(open);
            self.fields = fields;
        }
        title
    }
}
