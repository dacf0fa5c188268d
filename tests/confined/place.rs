//! The folders in which a command runs, and the changes that rows make in them.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::common;

/// The cassette of the workspace.
pub(crate) const PLAIN: &str = "cassettes/plain-text/2.1.329";
/// The folder of its scenario's goldens.
pub(crate) const GOLDENS: &[&str] = &["work/scenarios/plain-text/golden"];

/// The folders of one run.
pub(crate) struct Place {
    /// The folder around all of them.
    pub(crate) dir: TempDir,
    pub(crate) work: PathBuf,
    pub(crate) out: PathBuf,
    /// The folder for output, in the form in which arguments name it.
    named_out: PathBuf,
    pub(crate) outside: PathBuf,
}

impl Place {
    /// Makes a workspace of one scenario, and a folder outside with a file that must not change.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        common::fill_workspace(&dir.path().join("work"), &["plain-text"]);
        let base = fs::canonicalize(dir.path()).unwrap();
        let folder = |name: &str| base.join(name);
        for name in ["home", "tmp", "out", "outside"] {
            fs::create_dir(folder(name)).unwrap();
        }
        fs::write(folder("outside/precious"), "precious\n").unwrap();
        let (out, outside) = (folder("out"), folder("outside"));
        Self { work: folder("work"), named_out: out.clone(), out, outside, dir }
    }

    /// Makes the same with the output inside the workspace, where the repository may bring links.
    pub(crate) fn with_output_inside() -> Self {
        let place = Self::new();
        let out = place.work.join("out");
        fs::create_dir(&out).unwrap();
        Self { out, named_out: "out".into(), ..place }
    }

    /// Returns the command with these arguments, in the workspace and with separate folders.
    pub(crate) fn command(&self, program: &str, args: &[String]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.work).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, value) in [
            ("HOME", self.base().join("home")),
            ("TMPDIR", self.base().join("tmp")),
            ("TELEGRAM_BOT_TOKEN", "1:hidden".into()),
            ("GITHUB_STEP_SUMMARY", self.out.join("summary.md")),
            ("NO_COLOR", "1".into()),
        ] {
            command.env(name, value);
        }
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn base(&self) -> &Path {
        self.work.parent().unwrap()
    }

    /// Writes the capture `out/c.jsonl` of a CLI that reports this version.
    pub(crate) fn capture(&self, version: &str) {
        let text = fs::read_to_string(self.work.join(PLAIN).join("stdout.jsonl")).unwrap();
        let text = text.replacen("2.1.329", version, 1);
        fs::write(self.out.join("c.jsonl"), text).unwrap();
    }

    /// Replaces the first `from` in a file of the workspace.
    pub(crate) fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.work.join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no `{from}`");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    /// Gives the cassette a hash of a file that does not belong to it.
    pub(crate) fn add_hash(&self, path: &str) {
        let to = format!("[sha256]\n\"{path}\" = \"{}\"", "0".repeat(64));
        let manifest = self.work.join("cassettes/plain-text/2.1.329/cassette.toml");
        common::edit_manifest(&manifest, |text| text.replace("[sha256]", &to));
    }

    /// Replaces a file of the workspace by a link.
    pub(crate) fn link(&self, to: &str, file: &str) {
        let path = self.work.join(file);
        let _ = fs::remove_file(&path);
        symlink(to, path).unwrap();
    }

    /// Returns the arguments with their placeholders replaced by the folders and the URL.
    pub(crate) fn arguments(&self, args: &[&str], url: &str) -> Vec<String> {
        let [out, outside] = [&self.named_out, &self.outside].map(|path| path.to_str().unwrap());
        let named = |arg: &&str| {
            arg.replace("{outside}", outside).replace("{out}", out).replace("{url}", url)
        };
        args.iter().map(named).collect()
    }

    /// Runs a command that prepares a test and is not tested itself.
    pub(crate) fn run(&self, args: &[&str]) {
        let mut command = common::clitape();
        command.current_dir(&self.work).args(self.arguments(args, "")).output().unwrap();
    }

    /// Returns the files outside, with their bytes.
    pub(crate) fn outside(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = common::files(&self.outside, "").into_iter();
        files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
    }
}

pub(crate) fn change_golden(place: &Place) {
    let golden = "scenarios/plain-text/golden/telegram-partial.snap";
    place.edit(golden, "sendMessage", "sendMessagf");
}

pub(crate) fn propose_golden(place: &Place) {
    change_golden(place);
    place.run(&["test", "--update"]);
    let proposed = "scenarios/plain-text/golden/telegram-partial.snap.new";
    assert!(place.work.join(proposed).exists());
}

pub(crate) fn write_program(path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Starts a server of one event stream, which answers POST requests as a Bot API server, and returns its address.
pub(crate) fn serve() -> String {
    const STREAM: &str = "id: 1\nevent: output\ndata: {\"content\":\"collected words\"}\n\n\
                          id: 2\nevent: complete\ndata: {}\n\n";
    const SENT: &str = r#"{"ok":true,"result":{"message_id":7}}"#;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while reader.read_line(&mut head).unwrap_or(0) > 2 {}
            head.make_ascii_lowercase();
            let length = head.split_once("content-length: ").and_then(|(_, n)| n.lines().next());
            let length: u64 = length.map_or(0, |n| n.parse().unwrap());
            std::io::copy(&mut (&mut reader).take(length), &mut std::io::sink()).unwrap();
            let (kind, body) = match head.starts_with("post") {
                true => ("application/json", SENT),
                false => ("text/event-stream", STREAM),
            };
            let _ = write!(
                reader.into_inner(),
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{body}"
            );
        }
    });
    url
}
