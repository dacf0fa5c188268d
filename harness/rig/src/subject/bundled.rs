//! The CLIs that SDKs bring with them, and the files that replace them.
//!
//! An SDK starts its own `claude` before it looks at `PATH`, so that without a replacement the real CLI would run.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clitape_process::Cover;
use clitape_recording::files;
use fs_err as fs;

use super::error::SubjectError;
use super::packages::Packages;

/// The path of the CLI in a folder of Python packages.
const PYTHON: &str = "claude_agent_sdk/_bundled/claude";
/// The scope of the packages of npm.
const SCOPE: &str = "@anthropic-ai";
/// The packages of npm that have a CLI. Packages for one system, such as `claude-agent-sdk-linux-x64`, begin with the
/// same words.
const NODE: [&str; 2] = ["claude-agent-sdk", "claude-code"];
/// The path of the CLI in a package of npm: in older versions, in newer ones, and in packages for one system.
const IN_NODE: [&str; 3] = ["cli.js", "bin/claude.exe", "claude"];

/// A CLI that an SDK starts in place of the `claude` on `PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BundledCli {
    /// The path of its file, with links resolved.
    pub(crate) path: PathBuf,
    /// The option of the SDK that names another CLI.
    setting: &'static str,
    /// True if it belongs to the gateway: a library does not start a program that npm installed for all users.
    is_own: bool,
}

/// Returns the CLIs in the folders of a gateway's packages, each once.
pub(crate) fn find(packages: &Packages) -> Vec<BundledCli> {
    let mut found: Vec<BundledCli> = Vec::new();
    let mut keep = |path: PathBuf, setting, is_own| {
        let Ok(path) = path.canonicalize() else { return };
        if path.is_file() && found.iter().all(|other| other.path != path) {
            found.push(BundledCli { path, setting, is_own });
        }
    };
    for folder in &packages.python {
        keep(folder.join(PYTHON), "cli_path", true);
    }
    for folder in &packages.node {
        for folder in std::iter::once(folder.clone()).chain(nested(folder)) {
            for package in folders_of(&folder.join(SCOPE)) {
                let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if NODE.iter().any(|known| name.starts_with(known)) {
                    let is_own = !(name.starts_with("claude-code") && is_global(&folder));
                    let paths = IN_NODE.iter().map(|file| package.join(file));
                    paths.for_each(|path| keep(path, "pathToClaudeCodeExecutable", is_own));
                }
            }
        }
    }
    found
}

/// Returns the `node_modules` folders within the packages of another one.
fn nested(folder: &Path) -> Vec<PathBuf> {
    let packages = folders_of(folder).into_iter().flat_map(|package| {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match name.starts_with('@') || name == ".pnpm" {
            true => folders_of(&package),
            false => vec![package],
        }
    });
    packages.map(|package| package.join("node_modules")).filter(|inner| inner.is_dir()).collect()
}

/// Returns the folders in a folder, in the order of their names.
fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut folders: Vec<_> = paths.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Returns whether a `node_modules` is that of `npm install --global` and not that of a project.
fn is_global(folder: &Path) -> bool {
    folder.parent().is_some_and(|lib| lib.ends_with("lib") && !lib.join("package.json").exists())
}

impl BundledCli {
    /// Writes the replacement into `folder` and returns it with the path that it covers. It is a script that starts
    /// `claude`, the stand-in, because the stand-in finds its run beside its own file.
    ///
    /// # Errors
    ///
    /// An error if the file can't be written.
    pub(crate) fn replacement(&self, claude: &Path, folder: &Path) -> io::Result<Cover> {
        let is_script = self.path.extension().is_some_and(|extension| extension == "js");
        let (name, text) = match is_script {
            true => ("bundled-cli.js", node_script(claude)),
            false => ("bundled-claude", shell_script(claude)),
        };
        let by = folder.join(name);
        files::replace(&by, text).map_err(io::Error::from)?;
        fs::set_permissions(&by, std::fs::Permissions::from_mode(0o755))?;
        Ok(Cover { path: self.path.clone(), by })
    }
}

/// Returns the reason why a gateway can't be run on a way where files can't be covered: the first bundled CLI that it
/// would start. `None` if it has none, or if its settings name `claude`, which it then starts.
pub(crate) fn refusal(found: &[BundledCli], is_named: bool) -> Option<SubjectError> {
    let bundled = found.iter().find(|bundled| bundled.is_own).filter(|_| !is_named)?;
    let BundledCli { path, setting, .. } = bundled.clone();
    Some(SubjectError::BundledClaude { path, setting })
}

/// Returns a shell script that becomes `claude`.
fn shell_script(claude: &Path) -> String {
    let quoted = claude.to_string_lossy().replace('\'', r"'\''");
    format!("#!/bin/sh\nexec '{quoted}' \"$@\"\n")
}

/// Returns a script of Node that starts `claude` with its own stdin, stdout and stderr, passes signals on, and ends as
/// it ends. It works as a module and as a script of CommonJS, because the package around it decides.
fn node_script(claude: &Path) -> String {
    let claude = serde_json::Value::from(claude.to_string_lossy());
    format!(
        r#"#!/usr/bin/env node
import("node:child_process").then(({{ spawn }}) => {{
  // A signal may come as soon as the child runs.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {{
    process.on(signal, () => child.kill(signal));
  }}
  const child = spawn({claude}, process.argv.slice(2), {{ stdio: "inherit" }});
  child.on("error", (error) => {{
    console.error(`clitape stand-in: ${{error.message}}`);
    process.exit(64);
  }});
  child.on("exit", (code, signal) => {{
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  }});
}});
"#
    )
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Stdio};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    use super::*;
    use crate::subject::config::Subjects;
    use crate::subject::placeholders::Places;
    use crate::subject::spec::Subject;

    /// Makes a folder with these files.
    fn tree(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for file in files {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        (dir, root)
    }

    #[test]
    fn the_cli_of_each_kind_of_package_is_found_once() {
        let (_dir, root) = tree(&[
            "site/claude_agent_sdk/_bundled/claude",
            "site/claude_agent_sdk/_bundled/claude.version",
            "node_modules/@anthropic-ai/claude-agent-sdk/cli.js",
            "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs",
            "node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude",
            "node_modules/@anthropic-ai/claude-code/bin/claude.exe",
            "node_modules/@anthropic-ai/sdk/cli.js",
            "node_modules/bridge/node_modules/@anthropic-ai/claude-code/cli.js",
            "node_modules/@a/b/node_modules/@anthropic-ai/claude-code-linux-x64/claude",
            "node_modules/.pnpm/c@1/node_modules/@anthropic-ai/claude-agent-sdk/cli.js",
            "lib/node_modules/@anthropic-ai/claude-code/cli.js",
            "lib/node_modules/@anthropic-ai/claude-agent-sdk/cli.js",
        ]);
        let twice = root.join("node_modules");
        let packages = Packages {
            python: vec![root.join("none"), root.join("site")],
            node: vec![twice.clone(), twice, root.join("lib/node_modules")],
        };
        let found = find(&packages);
        let shown = found.iter().map(|cli| {
            let path = cli.path.strip_prefix(&root).unwrap().display().to_string();
            (path, cli.setting, cli.is_own)
        });
        let node = |path: &str, is_own| (path.to_owned(), "pathToClaudeCodeExecutable", is_own);
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                ("site/claude_agent_sdk/_bundled/claude".to_owned(), "cli_path", true),
                node("node_modules/@anthropic-ai/claude-agent-sdk/cli.js", true),
                node("node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude", true),
                node("node_modules/@anthropic-ai/claude-code/bin/claude.exe", true),
                node(
                    "node_modules/.pnpm/c@1/node_modules/@anthropic-ai/claude-agent-sdk/cli.js",
                    true
                ),
                node(
                    "node_modules/@a/b/node_modules/@anthropic-ai/claude-code-linux-x64/claude",
                    true
                ),
                node("node_modules/bridge/node_modules/@anthropic-ai/claude-code/cli.js", true),
                node("lib/node_modules/@anthropic-ai/claude-agent-sdk/cli.js", true),
                node("lib/node_modules/@anthropic-ai/claude-code/cli.js", false),
            ]
        );
    }

    /// A program in place of the stand-in: it prints its arguments and its stdin and ends with code 7, or waits and
    /// ends by a signal.
    const CLAUDE: &str = "#!/bin/sh\n\
        trap 'echo stopped; exit 3' TERM\n\
        [ \"$1\" = wait ] && { echo up; while :; do sleep 0.05; done; }\n\
        [ \"$1\" = die ] && kill -KILL $$\n\
        echo \"$@\"; cat; echo told >&2; exit 7\n";

    #[test]
    fn a_replacement_is_claude_in_every_way() {
        let (_dir, root) = tree(&["it's/claude", "pkg/cli.js", "pkg/claude", "run/x"]);
        let claude = root.join("it's/claude");
        fs::write(&claude, CLAUDE).unwrap();
        fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
        for (file, starts_with, package) in [
            ("pkg/claude", &[][..], "{}"),
            ("pkg/cli.js", &["node"][..], r#"{"type":"module"}"#),
            ("pkg/cli.js", &["node"], r#"{"type":"commonjs"}"#),
            ("pkg/cli.js", &[], "{}"),
        ] {
            let path = root.join(file);
            let cli = BundledCli { path: path.clone(), setting: "", is_own: true };
            let made = cli.replacement(&claude, &root.join("run")).unwrap();
            assert_eq!(made, cli.replacement(&claude, &root.join("run")).unwrap());
            assert_eq!(made.path, path);
            fs::write(root.join("run/package.json"), package).unwrap();
            let call = |arguments: &[&str]| {
                let by = made.by.to_str().unwrap();
                let words = [starts_with, &[by], arguments].concat();
                let mut command = Command::new(words[0]);
                command.args(&words[1..]).stdin(Stdio::null());
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                command
            };
            let output = call(&["-p", "a b", "$HOME"]).output().unwrap();
            let what = format!("{file} {package}: {output:?}");
            assert_eq!(output.stdout, b"-p a b $HOME\n", "{what}");
            assert_eq!(output.stderr, b"told\n", "{what}");
            assert_eq!(output.status.code(), Some(7), "{what}");
            assert_eq!(call(&["die"]).status().unwrap().signal(), Some(9), "{what}");
            let mut child = call(&["wait"]).spawn().unwrap();
            let mut out = child.stdout.take().unwrap();
            let mut up = [0; 3];
            out.read_exact(&mut up).unwrap();
            kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
            let mut rest = String::new();
            out.read_to_string(&mut rest).unwrap();
            assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("stopped\n", Some(3)));
        }
    }

    #[test]
    fn a_gateway_that_is_given_claude_is_not_refused() {
        let (_dir, root) = tree(&["conf.json"]);
        fs::write(root.join("conf.json"), r#"{"cli": "{claude}"}"#).unwrap();
        let cli = |is_own| BundledCli { path: "/p/claude".into(), setting: "cli_path", is_own };
        for (found, settings, is_refused) in [
            (vec![], "", false),
            (vec![cli(false)], "", false),
            (vec![cli(false), cli(true)], "", true),
            (vec![cli(true)], "env = { CLI = '{claude}' }", false),
            (vec![cli(true)], "env = { CLI = '{token}' }", true),
            (vec![cli(true)], "files = { 'home/conf.json' = 'conf.json' }", false),
            (vec![cli(true)], "files = { 'home/conf.json' = 'none.json' }", true),
        ] {
            let toml = format!("[subject.a]\nkind = 'gateway'\ncommand = ['a']\n{settings}\n");
            fs::write(root.join("clitape.toml"), toml).unwrap();
            let subjects = Subjects::load(&root).unwrap();
            let (_, Subject::Gateway(spec)) = subjects.get("a").unwrap() else { unreachable!() };
            let is_named = spec.has_place(&["{claude}", "{bin}"], Places::default(), &root);
            let refused = refusal(&found, is_named).map(|error| error.to_string());
            assert_eq!(refused.is_some(), is_refused, "{settings}: {refused:?}");
            let has_words =
                |words: &str| words.contains("/p/claude") && words.contains("`cli_path`");
            assert!(refused.is_none_or(|words| has_words(&words)));
        }
    }
}
