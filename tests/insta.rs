//! Tests of the contract with insta: it reads every committed golden, and clitape reads the goldens that it writes, so
//! that `cargo insta review` settles goldens like `clitape review`.
//!
//! The program calls itself for each use of insta, because insta reads its treatment of a differing snapshot from the
//! environment.

mod common;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use clitape_judge::body;
use common::{files, root, run, workspace};
use libtest_mimic::{Arguments, Failed, Trial};

/// The variable with the folder of the golden, for a call of this program by itself. The golden's name without its
/// ending, and the file with the text, follow as arguments.
const FOLDER: &str = "CLITAPE_INSTA_FOLDER";

fn main() -> ExitCode {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return match snapshots(Path::new(&folder)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let trials = vec![
        Trial::test("insta_reads_every_committed_golden", reads_goldens),
        Trial::test("insta_finds_a_golden_that_differs", finds_a_difference),
        Trial::test("clitape_reads_what_insta_accepts", accepted),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Compares each pair of arguments: the name of a snapshot in `folder`, and a file with its text.
fn snapshots(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    for pair in arguments.chunks(2) {
        let text = fs::read_to_string(&pair[1])?;
        settings.bind(|| insta::assert_snapshot!(pair[0].as_str(), text));
    }
    Ok(())
}

/// Calls this program for the goldens in `folder`, and returns whether insta found them equal.
fn insta(folder: &Path, update: &str, pairs: &[(String, String)]) -> Result<bool, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(FOLDER, folder).env("INSTA_UPDATE", update).current_dir(root());
    command.args(pairs.iter().flat_map(|(name, file)| [name, file]));
    Ok(command.output()?.status.success())
}

fn reads_goldens() -> Result<(), Failed> {
    let texts = tempfile::tempdir()?;
    let mut read = 0;
    for scenario in fs::read_dir(root().join("scenarios"))? {
        let folder = scenario?.path().join("golden");
        let mut pairs = Vec::new();
        for golden in files(&folder, ".snap") {
            let name = golden.file_stem().and_then(|name| name.to_str()).ok_or("no name")?;
            let file = texts.path().join(name);
            fs::write(&file, body(&fs::read_to_string(&golden)?).ok_or("no header")?)?;
            pairs.push((name.to_owned(), file.display().to_string()));
        }
        read += pairs.len();
        expect(insta(&folder, "no", &pairs)?, &format!("{} differs", folder.display()))?;
    }
    expect(read > 500, &format!("{read} goldens were read"))
}

fn finds_a_difference() -> Result<(), Failed> {
    let workspace = workspace(&["plain-text"]);
    let folder = workspace.path().join("scenarios/plain-text/golden");
    let text = workspace.path().join("text");
    fs::write(&text, "{\"at\":0}\n")?;
    let pair = [("bus".to_owned(), text.display().to_string())];
    expect(!insta(&folder, "no", &pair)?, "insta takes another text for the golden")
}

/// Checks that `clitape test` accepts a golden that insta has written.
fn accepted() -> Result<(), Failed> {
    let workspace = workspace(&["plain-text"]);
    let golden = workspace.path().join("scenarios/plain-text/golden/bus.snap");
    let before = fs::read_to_string(&golden)?;
    let text = workspace.path().join("text");
    fs::write(&text, body(&before).ok_or("no header")?)?;
    fs::write(&golden, "---\nsource: x\nexpression: bus\n---\nanother text\n")?;
    let pair = [("bus".to_owned(), text.display().to_string())];
    insta(golden.parent().ok_or("no folder")?, "always", &pair)?;
    let after = fs::read_to_string(&golden)?;
    expect(after != before && body(&after) == body(&before), &after)?;
    let (code, out, err) = run(workspace.path(), &["test", "plain-text"]);
    expect(code == 0, &format!("{code}\n{out}{err}"))
}

fn expect(holds: bool, why: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(why.into()) }
}
