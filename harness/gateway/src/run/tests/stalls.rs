//! A recorded run that stops between any two of its reads: one visible outcome, never silence (X7).

use std::path::Path;

use clitape_stream::Parser;

use super::*;

/// The cassettes that are replayed: a tool at work, and none.
const CASSETTES: [&str; 2] = ["bash-count/2.1.329", "plain-text/1.0.128"];

/// Plays `reads`, and silence after them: the milliseconds of silence until the run is given up,
/// the last callbacks of the channel, and the end on the bus.
async fn play(reads: &[&[u8]]) -> (u128, Vec<String>, Vec<String>) {
    let log = RecorderLog::default();
    let bus = Bus::new("r1");
    let (told, _subscription) = listen(&bus);
    let watchdog = Some(Watchdog::resumed(Duration::from_secs(600)));
    let settings = RunSettings { watchdog, ..RunSettings::default() };
    let mut run =
        Run::start(bus, settings, [Recorder::channel(&log, |_| CallbackBehaviour::Takes(0))]);
    let mut parser = Parser::new();
    for read in reads {
        sleep(Duration::from_millis(10)).await;
        run.on_bytes();
        parser.feed_with(read, &mut |event| run.on_event(&event));
    }
    let silent = Instant::now();
    run.stalled().await;
    let silence = silent.elapsed().as_millis();
    parser.finish_with(&mut |event| run.on_event(&event));
    run.finish().await;
    // The recorder writes a callback down when it starts, and all but the last when it has ended.
    let finishes = lock(&log);
    let finishes = finishes.iter().filter_map(|line| line.split_once(" finish "));
    let finishes = finishes.map(|(_, words)| words.to_owned()).collect();
    let is_end = |line: &&String| [" End ", " Error "].iter().any(|end| line.contains(end));
    let ends = lock(&told).iter().filter(is_end).cloned().collect();
    (silence, finishes, ends)
}

#[tokio::test(start_paused = true)]
pub(crate) async fn x7_a_stall_after_any_read_ends_in_one_visible_outcome() {
    for cassette in CASSETTES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cassettes").join(cassette);
        let stdout = std::fs::read(path.join("stdout.jsonl")).unwrap();
        let reads: Vec<&[u8]> = stdout.split_inclusive(|byte| *byte == b'\n').collect();
        let mut silences = Vec::new();
        for count in 0..=reads.len() {
            let (silence, finishes, ends) = play(&reads[..count]).await;
            let [words] = &finishes[..] else { panic!("{cassette} {count}: {finishes:?}") };
            let [end] = &ends[..] else { panic!("{cassette} {count}: {ends:?}") };
            let seconds = silence / 1_000;
            if count < reads.len() {
                let says = format!("The agent printed nothing for {seconds} s and was given up");
                assert!(words.contains(&says), "{cassette} {count}: {words}");
                assert!(end.contains("Stalled"), "{cassette} {count}: {end}");
            } else {
                // All was published before the silence.
                assert!(end.contains(" End "), "{cassette}: {end}");
            }
            silences.push(seconds);
        }
        // Only a tool at work may be silent for longer.
        silences.dedup();
        let expect: &[u128] = if cassette.starts_with("bash") { &[180, 900, 180] } else { &[180] };
        assert_eq!(silences, expect, "{cassette}");
    }
}
