//! Properties of random runs: any cut gives the same events, the deltas make up the text of the
//! snapshots and the result, and every call starts and ends once.

use proptest::collection::vec;
use proptest::prelude::*;

use super::dialog::{question, response};
use super::host::{SideLine, run_sides};
use super::*;

/// A block that a random message streams.
#[derive(Debug, Clone)]
enum StreamedPart {
    Text(Vec<String>),
    Thinking(Vec<String>),
    Tool(Value, usize),
}

/// Pieces of difficult text: letters, line ends, tags, characters of one to four bytes.
fn pieces() -> impl Strategy<Value = Vec<String>> {
    vec("[a-c<>/ \\n\"\\\\é世😀]{1,6}", 1..6)
}

fn input() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c \"\\\\é😀]{0,40}".prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[a-d]{1,2}", inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    });
    vec(("[a-d]{1,3}", tree), 0..4).prop_map(|members| members.into_iter().collect())
}

fn part() -> impl Strategy<Value = StreamedPart> {
    prop_oneof![
        pieces().prop_map(StreamedPart::Text),
        pieces().prop_map(StreamedPart::Thinking),
        (input(), 1..9_usize).prop_map(|(input, size)| StreamedPart::Tool(input, size)),
    ]
}

/// Messages of a turn as the CLI prints them, with their snapshots and results, and the result of the
/// turn. `ids` is what the ids end with.
fn records(messages: &[Vec<StreamedPart>], ids: &str) -> Vec<String> {
    let quoted = |text: &str| {
        let literal = serde_json::to_string(text).unwrap();
        literal[1..literal.len() - 1].to_owned()
    };
    let mut records = Vec::new();
    let mut last = String::new();
    for (at, parts) in messages.iter().enumerate() {
        let id = format!("m{at}{ids}");
        let mut results = Vec::new();
        records.push(message(&id));
        for (index, part) in (0..).zip(parts) {
            let whole = match part {
                StreamedPart::Text(pieces) => {
                    records.push(block(index, r#"{"type":"text","text":""}"#));
                    records.extend(pieces.iter().map(|piece| text(index, &quoted(piece))));
                    last = pieces.concat();
                    text_block(&quoted(&last))
                }
                StreamedPart::Thinking(pieces) => {
                    records.push(block(index, r#"{"type":"thinking","thinking":""}"#));
                    records.extend(pieces.iter().map(|piece| think(index, &quoted(piece))));
                    format!(r#"{{"type":"thinking","thinking":"{}"}}"#, quoted(&pieces.concat()))
                }
                StreamedPart::Tool(input, size) => {
                    let (call_id, raw) = (format!("t{at}.{index}{ids}"), input.to_string());
                    records.push(tool(index, &call_id, "{}"));
                    let chars: Vec<char> = raw.chars().collect();
                    let deltas = chars.chunks(*size).map(|chunk| chunk.iter().collect::<String>());
                    records.extend(deltas.map(|delta| json(index, &delta)));
                    results.push(tool_result(&call_id, "ok"));
                    call(&call_id, &raw)
                }
            };
            records.push(snapshot(&id, &whole));
            records.push(stop(index));
        }
        records.push(over());
        records.extend(results.into_iter().rev());
    }
    records.push(result(&quoted(&last)));
    records
}

/// Turns of a live process, in which each call is asked for. `answers` says, in turn, which of the
/// questions the host answers; the ids of turn `n` end with `@n`.
fn sides(turns: &[Vec<Vec<StreamedPart>>], answers: &[bool]) -> Vec<SideLine> {
    let (mut lines, mut answers) = (Vec::new(), answers.iter().cycle());
    for (number, messages) in (1..).zip(turns) {
        let prompt =
            format!(r#"{{"type":"user","message":{{"content":"Hi"}},"uuid":"u{number}"}}"#);
        lines.push(SideLine::Host(prompt.clone()));
        lines.push(SideLine::Cli(system("init", "")));
        lines.push(SideLine::Cli(prompt.replacen('{', r#"{"isReplay":true,"#, 1)));
        for record in records(messages, &format!("@{number}")) {
            let value: Value = serde_json::from_str(&record).unwrap();
            lines.push(SideLine::Cli(record));
            let call = &value["message"]["content"][0];
            if call["type"] == "tool_use" {
                let call = call["id"].as_str().unwrap();
                lines.push(SideLine::Cli(question(&format!("q{call}"), call)));
                if answers.next() == Some(&true) {
                    let allow = response(&format!("q{call}"), r#"{"behavior":"allow"}"#);
                    lines.push(SideLine::Host(allow));
                }
            }
        }
    }
    lines
}

/// The bytes of the CLI's side.
fn cli_bytes(lines: &[SideLine]) -> Vec<u8> {
    let text = |line: &SideLine| match line {
        SideLine::Cli(line) => format!("{line}\n"),
        SideLine::Host(_) => String::new(),
    };
    lines.iter().map(text).collect::<String>().into_bytes()
}

/// Turns of a live process.
fn turns() -> impl Strategy<Value = Vec<Vec<Vec<StreamedPart>>>> {
    vec(vec(vec(part(), 0..4), 0..3), 1..4)
}

/// A change to the bytes of a run.
#[derive(Debug, Clone)]
enum ByteMutation {
    /// Flips these bits of a byte.
    Flip(prop::sample::Index, u8),
    /// Removes up to this many bytes.
    Cut(prop::sample::Index, usize),
    /// Inserts bytes.
    Insert(prop::sample::Index, Vec<u8>),
}

impl ByteMutation {
    /// Changes the bytes, and returns the largest number of lines that the change can break.
    fn apply(&self, bytes: &mut Vec<u8>) -> usize {
        match self {
            Self::Flip(at, bits) => {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] ^= bits;
                }
                2 // a flipped byte may become a line end
            }
            Self::Cut(at, length) => {
                let start = at.index(bytes.len() + 1);
                let end = bytes.len().min(start + length);
                bytes.drain(start..end);
                1
            }
            Self::Insert(at, new) => {
                let at = at.index(bytes.len() + 1);
                bytes.splice(at..at, new.iter().copied());
                1 + new.iter().filter(|byte| **byte == b'\n').count()
            }
        }
    }
}

fn mutation() -> impl Strategy<Value = ByteMutation> {
    let at = any::<prop::sample::Index>;
    let syntax = prop::sample::select(b"\"\\{}[]:,0n \n\r\0".to_vec());
    prop_oneof![
        (at(), 1..=u8::MAX).prop_map(|(at, bits)| ByteMutation::Flip(at, bits)),
        (at(), 1..200_usize).prop_map(|(at, length)| ByteMutation::Cut(at, length)),
        (at(), vec(any::<u8>(), 1..9)).prop_map(|(at, new)| ByteMutation::Insert(at, new)),
        (at(), vec(syntax, 1..9)).prop_map(|(at, new)| ByteMutation::Insert(at, new)),
    ]
}

#[test]
pub(crate) fn any_cut_gives_the_same_events() {
    proptest!(ProptestConfig::with_cases(200), |(
        turns in turns(),
        sizes in vec(1..90_usize, 1..20),
    )| {
        let bytes = cli_bytes(&sides(&turns, &[false]));
        let whole = run(&bytes, || usize::MAX);
        let mut sizes = sizes.iter().cycle();
        let cut = run(&bytes, || *sizes.next().unwrap());
        prop_assert_eq!(cut, whole);
    });
}

#[test]
pub(crate) fn any_cut_of_both_sides_gives_the_same_events() {
    proptest!(ProptestConfig::with_cases(200), |(
        turns in turns(),
        answers in vec(any::<bool>(), 1..9),
        sizes in vec(1..90_usize, 1..20),
    )| {
        let lines = sides(&turns, &answers);
        let whole = run_sides(&lines, || usize::MAX);
        let mut sizes = sizes.iter().cycle();
        prop_assert_eq!(&run_sides(&lines, || *sizes.next().unwrap()), &whole);
        // Each turn has one outcome, and its messages, calls and questions are in it.
        let mut number = 1;
        for event in &whole {
            if event.contains(&format!("answers [\"u{number}\"]")) {
                number += 1;
            } else if let Some((_, id)) = event.split_once('@') {
                let of_turn = id.split(|c: char| !c.is_ascii_digit()).next();
                prop_assert_eq!(of_turn, Some(&*number.to_string()), "{} in {:?}", event, whole);
            }
        }
        prop_assert_eq!(number, turns.len() + 1);
        let count = |word: &str| whole.iter().filter(|event| event.starts_with(word)).count();
        let yes = lines.iter().filter(|line| matches!(line, SideLine::Host(l) if l.contains("allow")));
        prop_assert_eq!(count("answered "), yes.count());
        // The call of each question has its result, so that none is withdrawn.
        prop_assert_eq!((count("question "), count("withdrawn ")), (count("start "), 0));
        prop_assert_eq!(count("diagnostic"), 0);
    });
}

/// The outcomes of a run, each with the text that the turn had streamed at its end.
fn outcomes(lines: &[String]) -> Vec<(String, String)> {
    let (mut parser, mut text, mut outcomes) = (Parser::new(), String::new(), Vec::new());
    let mut sink = |event: Event<'_>| match &event {
        Event::Text { text: lent, .. } | Event::Retract { text: lent, .. } => {
            text.clear();
            text.push_str(lent);
        }
        Event::Outcome(_) => outcomes.push((show(&event), std::mem::take(&mut text))),
        _ => {}
    };
    parser.feed_with((lines.join("\n") + "\n").as_bytes(), &mut sink);
    parser.finish_with(&mut sink);
    outcomes
}

#[test]
pub(crate) fn a_result_in_the_next_turn_moves_no_text_between_the_turns() {
    proptest!(ProptestConfig::with_cases(200), |(
        turns in vec(vec(vec(part(), 0..4), 1..3), 2..4),
        delays in vec(any::<prop::sample::Index>(), 3),
    )| {
        let (mut prompt, mut late, mut waits) = (Vec::new(), Vec::new(), None);
        for (number, (messages, delay)) in (1..).zip(turns.iter().zip(delays)) {
            let mut lines = records(messages, &format!("@{number}"));
            let ids: Vec<_> = (0..messages.len()).map(|at| format!("\"m{at}@{number}\"")).collect();
            let named = format!(r#"{{"begun_message_ids":[{}],"#, ids.join(","));
            let end = lines.pop().unwrap().replacen('{', &named, 1);
            lines.insert(0, system("init", ""));
            prompt.extend(lines.iter().cloned().chain([end.clone()]));
            if let Some(waits) = waits.replace(end) {
                lines.insert(1 + delay.index(lines.len()), waits);
            }
            late.extend(lines);
        }
        late.extend(waits);
        prop_assert_eq!(outcomes(&late), outcomes(&prompt));
    });
}

#[test]
pub(crate) fn t4_the_deltas_make_up_what_the_snapshots_say() {
    proptest!(ProptestConfig::with_cases(200), |(messages in vec(vec(part(), 0..4), 1..4))| {
        let mut parser = Parser::new();
        let mut emitted: HashMap<(String, &str), String> = HashMap::new();
        let (mut starts, mut ends, mut diagnostics) = (HashMap::new(), Vec::new(), Vec::new());
        let bytes: String = records(&messages, "").iter().map(|record| format!("{record}\n")).collect();
        for event in parser.feed(bytes.as_bytes()) {
            match event {
                Event::Text { message_id, delta, .. } => {
                    emitted.entry((message_id.into_owned(), "text")).or_default().push_str(&delta);
                }
                Event::Thinking { message_id, delta, .. } => {
                    emitted.entry((message_id.into_owned(), "thinking")).or_default().push_str(&delta);
                }
                Event::ToolStart { id, args: ToolArguments::Complete(args), .. } => {
                    prop_assert!(starts.insert(id.into_owned(), args.value()).is_none());
                }
                Event::ToolResult { id, .. } => ends.push(id.into_owned()),
                Event::Diagnostic { message, .. } => diagnostics.push(message.into_owned()),
                _ => {}
            }
        }
        prop_assert_eq!(diagnostics, Vec::<String>::new());
        let (mut calls, bare) = (0, |text: &str| text.replace('\n', ""));
        for (at, parts) in messages.iter().enumerate() {
            let printed = |wanted: fn(&StreamedPart) -> Option<&Vec<String>>| {
                bare(&parts.iter().filter_map(wanted).flatten().cloned().collect::<String>())
            };
            let text = printed(|part| if let StreamedPart::Text(pieces) = part { Some(pieces) } else { None });
            let thinking =
                printed(|part| if let StreamedPart::Thinking(pieces) = part { Some(pieces) } else { None });
            for (kind, printed) in [("text", text), ("thinking", thinking)] {
                let emitted = emitted.get(&(format!("m{at}"), kind)).map_or(String::new(), |t| bare(t));
                prop_assert_eq!(emitted, printed);
            }
            for (index, part) in parts.iter().enumerate() {
                if let StreamedPart::Tool(input, _) = part {
                    prop_assert_eq!(&starts[&format!("t{at}.{index}")], input);
                    calls += 1;
                }
            }
        }
        ends.sort();
        ends.dedup();
        prop_assert_eq!((starts.len(), ends.len()), (calls, calls));
    });
}

#[test]
pub(crate) fn mutated_records_cost_their_own_lines_and_give_an_outcome_for_each_turn() {
    proptest!(ProptestConfig::with_cases(200), |(
        turns in turns(),
        mutations in vec(mutation(), 1..6),
        sizes in vec(1..90_usize, 1..9),
    )| {
        let mut bytes = cli_bytes(&sides(&turns, &[false]));
        let most_broken: usize = mutations.iter().map(|mutation| mutation.apply(&mut bytes)).sum();
        let (seen, stats) = run(&bytes, || usize::MAX);
        let mut sizes = sizes.iter().cycle();
        prop_assert_eq!(&run(&bytes, || *sizes.next().unwrap()), &(seen.clone(), stats.clone()));
        let is_outcome = |event: &&String| {
            ["ok ", "error ", "incomplete "].iter().any(|status| event.starts_with(status))
        };
        prop_assert!(seen.iter().any(|event| is_outcome(&event)), "{:?}", seen);
        let Stats { lines, blank, records, unknown, unusable, .. } = stats;
        prop_assert_eq!(lines, blank + records + unknown + unusable);
        let pieces = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
        prop_assert_eq!(lines, pieces, "every line is read");
        let is_broken = |event: &&String| {
            ["diagnostic not-json ", "diagnostic cut-line "].iter().any(|code| event.starts_with(code))
        };
        let broken = seen.iter().filter(is_broken).count();
        prop_assert!(broken <= most_broken, "{} lines are broken by {:?}", broken, mutations);
    });
}
