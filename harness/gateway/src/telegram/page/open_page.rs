//! A page while it is written: which marks are open on it, and which characters are written as they are.

use crate::profile::Profile;
use crate::telegram::markup::StyledText;

/// What opens a style and what closes it.
pub(super) type StyleMark = (String, String);

/// A page that is written, and the marks that are open on it.
#[derive(Default)]
pub(super) struct OpenPage<'m> {
    pub(super) text: String,
    open: &'m [StyleMark],
    /// Whether these are the marks of a block, which goes on in no other piece.
    is_block: bool,
}

impl<'m> OpenPage<'m> {
    /// Opens the marks of the next piece, and closes those before that are not its own. Returns how many stay open.
    pub(super) fn begin(&mut self, marks: &'m [StyleMark], is_block: bool) -> usize {
        let shared = if self.is_block { 0 } else { shared(self.open, marks) };
        self.close(shared);
        marks[shared..].iter().for_each(|(mark, _)| self.text.push_str(mark));
        (self.open, self.is_block) = (marks, is_block);
        shared
    }

    /// Closes the open marks but for the `kept` outermost.
    fn close(&mut self, kept: usize) {
        self.open[kept..].iter().rev().for_each(|(_, mark)| self.text.push_str(mark));
    }

    /// The page, with all marks closed.
    pub(super) fn end(mut self) -> String {
        self.close(0);
        self.text
    }
}

/// How many of the outermost marks are the same.
pub(super) fn shared(before: &[StyleMark], marks: &[StyleMark]) -> usize {
    before.iter().zip(marks).take_while(|(a, b)| a == b).count()
}

/// The ASCII characters that are written as they are in a piece: those that are not escaped, do not begin a line of a
/// quotation, and are no tick of a fence.
pub(super) fn as_is(piece: &StyledText, profile: &Profile) -> u128 {
    let style = &piece.style;
    let special = style.escapes(profile).iter().map(|(special, _)| *special);
    let special = special.chain(['\n']).chain(style.is_block().then_some('`'));
    special
        .filter(char::is_ascii)
        .fold(u128::MAX, |mask, special| mask & !(1 << u32::from(special)))
}
