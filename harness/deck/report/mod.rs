//! Shows traces and findings: as a timeline, as the screen a person sees, as lines of a test run.
//!
//! Writers take any `Write` and put ANSI colours into it; the caller strips them where they do not
//! belong.

mod findings;
mod screen;
mod timeline;

pub use findings::{Tally, scenario_line, summary, write_diff, write_finding};
pub use screen::Screen;
pub use timeline::{footer, write_entry};

use anstyle::{AnsiColor, Style};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const STRONG_GOOD: Style = GOOD.bold().underline();
const STRONG_BAD: Style = BAD.bold().underline();
const ODD: Style = AnsiColor::Yellow.on_default();
const COOL: Style = AnsiColor::Cyan.on_default();
const WARM: Style = AnsiColor::Magenta.on_default();
