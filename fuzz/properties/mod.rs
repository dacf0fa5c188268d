//! The properties that hold for any bytes, one module for each fuzz target. The targets in
//! `fuzz_targets/` call them with what libFuzzer makes up, and `tests/corpus.rs` of the main
//! workspace with every committed seed and corpus file.

pub mod bot_api;
pub mod cassette;
pub mod import;
pub mod plan;
pub mod scenario;
pub mod stream;
pub mod timeline;

/// A function that panics when a property does not hold for the bytes.
pub type Property = fn(&[u8]);

/// Every fuzz target by its name, which is also the name of its folders of seeds and corpus files.
pub const TARGETS: [(&str, Property); 7] = [
    ("bot_api", bot_api::check),
    ("cassette", cassette::check),
    ("import", import::check),
    ("plan", plan::check),
    ("scenario", scenario::check),
    ("stream", stream::check),
    ("timeline", timeline::check),
];

/// Numbers that depend on the bytes alone, so that a crash can be repeated.
fn numbers(bytes: &[u8]) -> impl FnMut() -> usize + use<> {
    let mut state = bytes.iter().fold(bytes.len() as u64, |hash, byte| {
        hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte)
    });
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    }
}

/// A folder of this process alone, in memory where the system has such a place; its content is
/// removed before each use.
fn scratch(name: &str) -> std::path::PathBuf {
    let memory = std::path::Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let thread = std::thread::current().id();
    let dir = parent.join(format!("clitape-fuzz-{}-{thread:?}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder in memory can be made");
    dir
}
