//! The parser of the published OpenClaw beside ours: `cargo bench --bench openclaw` prints how long each takes for the same
//! 50 MB.
//!
//! The input is the stdout of every committed cassette, again and again: once as what one process prints, which one parser reads,
//! and once as runs with a parser each. Both programs have all bytes in memory before the clock starts, and get them in pieces of 64
//! KiB. OpenClaw and a node for it are installed with npm (700 MB) into Cargo's folder for temporary files, where the next run finds
//! them.

mod cassettes;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use cassettes::cassettes;
use clitape_process::host::HostPaths;
use clitape_process::{Install, Installed};
use clitape_runner::record::ResolveLimits;
use clitape_stream::{Event, Parser};
use serde_json::Value;

/// The version of OpenClaw.
const VERSION: &str = "2026.9.6";
/// The major version of node that it needs.
const NODE: &str = "24";
/// The bytes of the runs together, at least.
const BYTES: usize = 50_000_000;
/// The bytes that a parser gets at a time.
const PIECE: usize = 64 * 1024;
/// Each program parses everything this many times, and the fastest counts.
const TIMES: usize = 3;

/// What a parser took, and what it found in the runs.
#[derive(Debug, Default)]
struct Parsed {
    seconds: f64,
    /// Pieces of the main agent's text.
    texts: u64,
    /// UTF-16 units of these.
    characters: u64,
    /// Calls that the main agent has started.
    calls: u64,
}

fn main() -> Result<()> {
    // `cargo test --benches` runs it without this word.
    if env::args().any(|arg| arg == "--bench") { compared() } else { Ok(()) }
}

fn compared() -> Result<()> {
    let openclaw = install()?;
    let runs = runs();
    compare("one process", &[runs.concat()], &openclaw)?;
    println!();
    compare(&format!("{} processes", runs.len()), &runs, &openclaw)
}

/// Prints how long each program takes for these runs, with a parser for each.
fn compare(what: &str, runs: &[Vec<u8>], openclaw: &Installed) -> Result<()> {
    let bytes: usize = runs.iter().map(Vec::len).sum();
    let ours = ours(runs);
    let theirs = theirs(runs, openclaw)?;
    println!("stdout of {what}, {bytes} bytes, the fastest of {TIMES}:");
    for (name, it) in
        [("clitape-stream".to_owned(), &ours), (format!("openclaw {VERSION}"), &theirs)]
    {
        let rate = bytes as f64 / it.seconds / 1e6;
        println!(
            "{name:<18} {:>7.3} s {rate:>6.0} MB/s  {} pieces of text, {} characters, {} calls",
            it.seconds, it.texts, it.characters, it.calls
        );
    }
    println!("openclaw takes {:.1} times as long", theirs.seconds / ours.seconds);
    ensure!(ours.calls > 0 && theirs.calls > 0, "a parser has found no call");
    Ok(())
}

/// The stdout of every cassette, again and again until there are [`BYTES`].
fn runs() -> Vec<Vec<u8>> {
    let mut bytes = 0;
    let is_missing = |run: &Vec<u8>| {
        let more = bytes < BYTES;
        bytes += run.len();
        more
    };
    let recorded = cassettes();
    recorded.iter().cycle().cloned().take_while(is_missing).collect()
}

fn ours(runs: &[Vec<u8>]) -> Parsed {
    let mut best = Parsed { seconds: f64::INFINITY, ..Parsed::default() };
    for _ in 0..TIMES {
        let mut parsed = Parsed::default();
        let began = Instant::now();
        for run in runs {
            let mut parser = Parser::new();
            let mut count = |event: Event<'_>| match event {
                Event::Text { delta, parent: None, .. } => {
                    parsed.texts += 1;
                    parsed.characters += delta.encode_utf16().count() as u64;
                }
                Event::ToolStart { parent: None, .. } => parsed.calls += 1,
                _ => {}
            };
            for piece in run.chunks(PIECE) {
                parser.feed_with(piece, &mut count);
            }
            parser.finish_with(&mut count);
        }
        parsed.seconds = began.elapsed().as_secs_f64();
        if parsed.seconds < best.seconds {
            best = parsed;
        }
    }
    best
}

fn theirs(runs: &[Vec<u8>], Installed { folder, node }: &Installed) -> Result<Parsed> {
    let input = tempfile::tempdir()?;
    let [bytes, sizes] = ["runs.jsonl", "sizes.json"].map(|name| input.path().join(name));
    fs::write(&bytes, runs.concat())?;
    let lengths: Vec<usize> = runs.iter().map(Vec::len).collect();
    fs::write(&sizes, serde_json::to_vec(&lengths)?)?;
    let node = node.as_ref().context("npm has installed no node")?;
    let mut command = Command::new(node);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/openclaw/parse.mjs"));
    command.arg(folder.join("node_modules/openclaw/dist"));
    command.args([&bytes, &sizes]).args([PIECE, TIMES].map(|it| it.to_string()));
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "parse.mjs failed: {}", output.status);
    let found: Value = serde_json::from_slice(&output.stdout).context("what parse.mjs prints")?;
    let number = |key: &str| found[key].as_u64().with_context(|| format!("`{key}` of {found}"));
    Ok(Parsed {
        seconds: found["seconds"].as_f64().context("`seconds` of parse.mjs")?,
        texts: number("texts")?,
        characters: number("characters")?,
        calls: number("calls")?,
    })
}

/// Installs OpenClaw and node, unless they are there.
fn install() -> Result<Installed> {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let host = HostPaths {
        path: env::var_os("PATH").context("`PATH` is not set")?,
        temporary: env::temp_dir(),
        home: env::home_dir(),
    };
    let install = Install {
        folder: temporary.join(format!("openclaw-{VERSION}")),
        package: format!("openclaw@{VERSION}"),
        node: Some(NODE.to_owned()),
        overrides: [("linkedom".to_owned(), "0.18.9".to_owned())].into(),
        runs_scripts: false,
    };
    let stop = AtomicBool::new(false);
    let mut note = |what: &str| eprintln!("{what}");
    Ok(install.run(ResolveLimits::default(), &host, &stop, &mut note)?)
}
