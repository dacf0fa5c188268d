//! The canonical form of a recording: what differs between two runs of one script, and what
//! identifies the machine, becomes a stable placeholder of the same JSON type.
//!
//! Recording a scenario again with the same CLI so gives the same bytes. Everything else keeps
//! its bytes: no line is parsed and printed again. In order: lines become trees of spans, read
//! by the parser's own reader ([`clitape_stream::tree`]); the rules by field blank values and
//! collect ids (`rules`, `ids`); ids and the facts of the machine (`facts`) are looked for
//! (`needles`) in texts in which a value is whole, the deltas of a block joined (`texts`); all
//! edits are made at once (`splice`). The canonical form of a canonical form is itself.
//!
//! | rule | what it replaces |
//! |---|---|
//! | `session`, `uuid`, `task`, `run`, `hash`, `blob` | ids the CLI makes up, wherever they occur |
//! | `plan` | the random name of the file with a plan |
//! | `duration`, `time`, `cost` | numbers and points in time, by field; durations in running text as well |
//! | `pid`, `uid`, `address` | numbers of processes and users, also in the names of files, the model server's port |
//! | `project`, `home`, `tmp` | the folders of the run, plain and as the CLI's slug |
//! | `host`, `user` | names, as whole words |
//! | `racing` | fields that CLIs before 2.1.100 print one way or the other |
//! | `order` | members of `modelUsage`, sorted |

mod facts;
mod ids;
mod needles;
mod rules;
pub(crate) mod splice;
pub(crate) mod texts;
mod transcript;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use facts::{MachineFacts, MachineFolder, guess};
pub use splice::Canonical;
pub use transcript::conversation_lines;

use ids::Ids;
pub use ids::is_uuid;
use needles::{Matcher, Needle};
use splice::{ByteEdit, splice};
use texts::{TextParts, Texts};

/// The canonical form of the bytes of stdout, and the same replacements for the other files of
/// the run.
pub fn canonical(stdout: &[u8], facts: &MachineFacts) -> (Canonical, Substitutions) {
    let mut substitutions = Substitutions {
        facts: facts::needles(facts),
        races: facts.cli_version.as_deref().is_some_and(rules::races),
        ids: Ids::default(),
        matcher: Matcher::default(),
    };
    (substitutions.apply_lines(stdout), substitutions)
}

/// The placeholders of one recording.
#[derive(Debug, Clone)]
pub struct Substitutions {
    facts: Vec<Needle>,
    races: bool,
    ids: Ids,
    matcher: Matcher,
}

impl Substitutions {
    /// The canonical form of another file of the run: transcript, stdin, stderr.
    ///
    /// Ids that were not seen before get the next numbers, so the order of the calls matters.
    /// Only the values are replaced in a line that is neither a JSON object nor an array of them.
    pub fn apply_lines(&mut self, text: &[u8]) -> Canonical {
        let (raw, sorted) = in_order(text);
        let mut edits = Vec::new();
        let mut texts = Texts::default();
        for line in texts::lines(&raw) {
            let records = texts::records(&raw, &line);
            texts.add(&raw, &line, &records);
            for record in &records {
                rules::record(&raw, record, self.races, &mut self.ids, &mut edits);
            }
        }
        for text in &texts.all {
            rules::spoken(&text.bytes(&raw), &mut self.ids);
        }
        let known = self.facts.iter().cloned();
        self.matcher = Matcher::new(known.chain(self.ids.needles()));
        for text in &texts.all {
            self.values(&raw, text, &mut edits);
        }
        let mut canonical = splice(&raw, edits);
        if sorted > 0 {
            canonical.counts.insert("order".to_owned(), sorted);
        }
        canonical
    }

    /// The values of the run replaced in a text that is not made of records, such as an argument
    /// of the command line.
    pub fn apply_text(&self, text: &str) -> String {
        let mut edits = Vec::new();
        self.values(text.as_bytes(), &TextParts::whole(text.len()), &mut edits);
        String::from_utf8_lossy(&splice(text.as_bytes(), edits).bytes).into_owned()
    }

    fn values(&self, raw: &[u8], text: &TextParts, edits: &mut Vec<ByteEdit>) {
        let bytes = text.bytes(raw);
        for found in self.matcher.find(&bytes) {
            if bytes[found.span.clone()] != *found.with.as_bytes() {
                text.replace(&found.span, found.with.as_bytes(), found.rule, edits);
            }
        }
    }
}

/// The same bytes with unordered objects put in order, and how many were not.
fn in_order(text: &[u8]) -> (Cow<'_, [u8]>, u64) {
    let mut raw = Cow::Borrowed(text);
    let mut sorted = 0;
    for record in texts::lines(text).flat_map(|line| texts::records(text, &line)) {
        sorted += rules::sort_members(&mut raw, &record);
    }
    (raw, sorted)
}
