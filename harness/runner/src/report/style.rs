//! The colours of a terminal.

use anstyle::{AnsiColor, Style};

pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const BOLD: Style = Style::new().bold();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
pub(super) const STRONG_GOOD: Style = GOOD.bold().underline();
pub(super) const STRONG_BAD: Style = BAD.bold().underline();
pub(super) const ODD: Style = AnsiColor::Yellow.on_default();
pub(super) const COOL: Style = AnsiColor::Cyan.on_default();
pub(super) const WARM: Style = AnsiColor::Magenta.on_default();
