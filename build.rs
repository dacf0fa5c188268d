//! Packs the files of the scenarios that `clitape init` brings, so that the program holds them: of each the recording of
//! the newest version, and the goldens that hold for it, named as in a workspace that has this version alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

/// The scenarios, in the order in which they are named to people.
const STARTERS: [&str; 10] = [
    "plain-text",
    "three-tools",
    "parallel-tools",
    "subagent",
    "long-answer",
    "unicode",
    "sse-error-mid-text",
    "resume-killed-mid-tool",
    "ask-user",
    "live-interrupt-tool",
];

/// The numbers of a version.
type VersionNumbers = Vec<u32>;

fn main() -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    let root = variable("CARGO_MANIFEST_DIR")?;
    let config = root.join("clitape.toml");
    rebuild_with(&config);
    let config = fs::read_to_string(config)?;
    let newest = config.lines().find_map(|line| line.strip_prefix("newest = "));
    let newest = newest.ok_or(io::ErrorKind::InvalidData)?.trim_matches('"');
    let (mut code, mut content) = (String::from("&[\n"), Vec::new());
    for name in STARTERS {
        let scenario = root.join("scenarios").join(name);
        let cassette = root.join("cassettes").join(name).join(newest);
        let (all, mut files): (BTreeMap<_, _>, BTreeMap<_, _>) =
            files_in(&scenario)?.into_iter().partition(|(place, _)| place.starts_with("golden/"));
        files.extend(goldens(all, &numbers(newest).unwrap_or_default()));
        let scenario = list(&files, &mut content)?;
        let cassette = list(&files_in(&cassette)?, &mut content)?;
        let row = format!(
            "Starter {{ name: {name:?}, version: {newest:?}, scenario: {scenario}, cassette: {cassette} }},\n"
        );
        code.push_str(&row);
    }
    code.push_str("]\n");
    let out = variable("OUT_DIR")?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&content)?;
    fs::write(out.join("starters.gz"), packed.finish()?)?;
    fs::write(out.join("starters.rs"), code)
}

/// Returns the goldens that hold for a version, by the places that they get: those of the last version that has its own.
fn goldens(all: BTreeMap<String, PathBuf>, newest: &VersionNumbers) -> BTreeMap<String, PathBuf> {
    let mut kept: BTreeMap<String, (VersionNumbers, PathBuf)> = BTreeMap::new();
    for (place, path) in all {
        let Some(stem) = place.strip_prefix("golden/").and_then(|it| it.strip_suffix(".snap"))
        else {
            continue;
        };
        let (view, version) = match stem.split_once('.') {
            Some((view, rest)) => numbers(rest).map_or((stem, Vec::new()), |of| (view, of)),
            None => (stem, Vec::new()),
        };
        let own = format!("golden/{view}.snap");
        let is_later = kept.get(&own).is_none_or(|(other, _)| *other < version);
        if version <= *newest && is_later {
            kept.insert(own, (version, path));
        }
    }
    kept.into_iter().map(|(place, (_, path))| (place, path)).collect()
}

/// Returns the numbers of a version; `None` for other words.
fn numbers(version: &str) -> Option<VersionNumbers> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

/// Returns the files in a folder and below, by their places in it.
fn files_in(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    rebuild_with(folder);
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            let inside = files_in(&entry.path())?.into_iter();
            files.extend(inside.map(|(place, path)| (format!("{name}/{place}"), path)));
        } else if !name.ends_with(".new") {
            files.insert(name, entry.path());
        }
    }
    Ok(files)
}

/// Adds files to the content that is packed; returns the code of their list, each with its part of that content.
fn list(files: &BTreeMap<String, PathBuf>, content: &mut Vec<u8>) -> io::Result<String> {
    let mut code = String::from("&[");
    for (place, path) in files {
        let begin = content.len();
        content.extend(fs::read(path)?);
        let end = content.len();
        let _ =
            write!(code, "StarterFile {{ place: {place:?}, bytes: &content[{begin}..{end}] }}, ");
    }
    Ok(code + "]")
}

/// Has cargo run this again when the file or folder changes.
fn rebuild_with(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}
