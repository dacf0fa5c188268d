//! Drafts of random turns: a draft of the newest parts looks as a draft of all of them.

use proptest::prelude::*;

use super::super::{Compositor, DraftMode, DraftPart, TelegramSettings, TextLane, WindowLimits};
use crate::bus::Tool;
use crate::excerpt::prefix;
use crate::profile::TELEGRAM;
use crate::telegram::compose::lines::{DraftBlock, fold, layout};

const EVERYTHING: WindowLimits = WindowLimits { rows: usize::MAX, letters: usize::MAX };

/// An event of a turn. Numbers are calls, which are few, so that ids come again.
#[derive(Debug, Clone)]
enum Happens {
    Text(String),
    Thought(String),
    /// So many bytes of the answer are taken back.
    Back(usize),
    Start(u8, u8, Option<u8>),
    End(u8, bool),
    Drop(u8),
    Hold(u8, bool),
    Heard,
    Notice,
    Seconds(u64),
}

fn happens() -> impl Strategy<Value = Happens> {
    let words = prop_oneof![
        6 => "[a-z ]{1,12}",
        2 => "[a-z *`_\\[\\n#>|-]{0,20}",
        1 => Just("\n\n".to_owned()),
        1 => Just("long words ".repeat(40)),
    ];
    prop_oneof![
        4 => words.clone().prop_map(Happens::Text),
        2 => words.prop_map(Happens::Thought),
        1 => (0_usize..60).prop_map(Happens::Back),
        8 => (0_u8..30, 0_u8..3, proptest::option::weighted(0.3, 0_u8..30))
            .prop_map(|(id, title, parent)| Happens::Start(id, title, parent)),
        7 => (0_u8..30, any::<bool>()).prop_map(|(id, is_error)| Happens::End(id, is_error)),
        1 => (0_u8..30).prop_map(Happens::Drop),
        1 => (0_u8..30, any::<bool>()).prop_map(|(id, holds)| Happens::Hold(id, holds)),
        1 => Just(Happens::Heard),
        1 => Just(Happens::Notice),
        1 => (1_u64..50).prop_map(Happens::Seconds),
    ]
}

/// The rows, the texts and the marks of the blocks as a draft has them.
fn drawn(blocks: (Vec<DraftBlock>, usize)) -> (String, bool) {
    let (mut blocks, older) = blocks;
    fold(&mut blocks, older, &TELEGRAM);
    layout(&blocks, &TELEGRAM)
}

/// Every row of the blocks, as often as it counts.
fn rows(blocks: &[DraftBlock]) -> Vec<String> {
    let rows = blocks.iter().filter_map(|block| match block {
        DraftBlock::Rows(rows) => Some(rows),
        DraftBlock::Text(_) => None,
    });
    rows.flatten().flat_map(|row| vec![row.html.clone(); row.times]).collect()
}

/// Every line, each written on its own, and the status.
fn written(compositor: &Compositor) -> Vec<String> {
    let lines = compositor.parts.iter().filter_map(|part| match part {
        DraftPart::Line(place) => Some(compositor.lines.get(*place)),
        DraftPart::Text(_) => None,
    });
    let text = |line: &super::ToolLine| line.text(&compositor.settings, compositor.started);
    lines.chain(compositor.status.as_ref().map(|status| &status.line)).map(text).collect()
}

async fn check(settings: TelegramSettings, turn: &[Happens]) {
    let mut compositor = Compositor::new(settings);
    let (mut answer, mut thought) = (String::new(), String::new());
    for happens in turn {
        match happens {
            Happens::Text(more) => answer.push_str(more),
            Happens::Thought(more) => thought.push_str(more),
            Happens::Back(bytes) => {
                answer.truncate(prefix(&answer, answer.len().saturating_sub(*bytes)).len());
            }
            Happens::Start(id, title, parent) => {
                let parent = parent.map(|parent| parent.to_string());
                compositor.start(&id.to_string(), &format!("title {title}"), parent.as_deref());
            }
            Happens::End(id, is_error) => compositor.tool(&Tool::Result {
                id: id.to_string(),
                name: String::new(),
                is_error: *is_error,
                result: serde_json::Value::Null,
                incomplete: None,
                parent: None,
            }),
            Happens::Drop(id) => compositor.drop_calls(&[id.to_string()]),
            Happens::Hold(id, holds) => compositor.hold(&id.to_string(), *holds),
            Happens::Heard => compositor.heard("a word"),
            Happens::Notice => {
                let line = super::ToolLine::of_no_call("it waits");
                compositor.status = Some(super::StatusLine { line, is_news: false });
            }
            Happens::Seconds(seconds) => {
                tokio::time::advance(std::time::Duration::from_secs(*seconds)).await;
            }
        }
        compositor.text(TextLane::Answer, &answer);
        compositor.text(TextLane::Thought, &thought);
        let newest = compositor.window();
        let everything = compositor.window_within(EVERYTHING);
        assert_eq!(rows(&everything.0), written(&compositor), "after {happens:?}");
        assert_eq!(drawn(newest), drawn(everything), "after {happens:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_newest_parts_look_as_all_of_them(
        turn in proptest::collection::vec(happens(), 0..120),
        reasoning in any::<bool>(),
        mode in prop_oneof![Just(DraftMode::Partial), Just(DraftMode::Block), Just(DraftMode::Progress)],
    ) {
        let settings = TelegramSettings { mode, reasoning, ..TelegramSettings::default() };
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
        runtime.block_on(check(settings, &turn));
    }
}
