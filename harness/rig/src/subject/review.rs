//! Lists the programs that a subject makes clitape run, for the person who is about to start it, and computes the
//! digest by which the subject is known later.

use std::collections::BTreeMap;
use std::path::Path;

use clitape_runner::record::Review;
use clitape_runner::text::{plural, shell_quote};

use super::spec::{CallSpec, GatewaySpec, InstallSpec, ReadySign, Subject};

/// Lists what a subject runs. The digest is of these lines and of the folder `root` of its `clitape.toml`, because the
/// same command runs another program in another folder.
pub fn review(subject: &Subject, version: Option<&str>, root: &Path) -> Review {
    let lines = match subject {
        Subject::Gateway(spec) => of_gateway(spec.at_version(version)),
        Subject::Parser(spec) => of_call(&spec.call),
        Subject::Replay(spec) => of_call(&spec.call),
    };
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    Review::of_lines(&lines, &[root.as_os_str().as_encoded_bytes()])
}

fn of_gateway(spec: &GatewaySpec) -> Vec<String> {
    let mut lines = vec![format!("command: {}", words(&spec.command))];
    lines.extend(spec.folder.iter().map(|folder| format!("in the folder: {folder}")));
    if let Some(checkout) = &spec.checkout {
        lines.push(format!("a revision of: {}", checkout.display()));
    }
    if !spec.build.is_empty() {
        lines.push(format!("which is built by: {}", words(&spec.build)));
    }
    lines.extend(spec.install.iter().map(installed));
    lines.extend(passed(&spec.pass_env));
    lines.extend(settings("its environment", &spec.env));
    lines.extend(settings("placeholders", &spec.values));
    lines.extend(settings("files", &spec.files));
    if let ReadySign::Url(url) = &spec.ready.sign {
        lines.push(format!("clitape asks until it is ready: {url}"));
    }
    lines
}

fn of_call(spec: &CallSpec) -> Vec<String> {
    let mut lines = vec![format!("command: {}", words(&spec.command))];
    lines.extend(spec.install.iter().map(installed));
    lines.extend(passed(&spec.pass_env));
    lines.extend(settings("its environment", &spec.env));
    lines
}

/// A command as a shell reads it.
fn words(command: &[String]) -> String {
    command.iter().map(|word| shell_quote(word)).collect::<Vec<_>>().join(" ")
}

fn installed(install: &InstallSpec) -> String {
    let scripts = if install.scripts { ", and runs the scripts of its packages" } else { "" };
    let others = match install.overrides.len() {
        0 => String::new(),
        more => format!(" with {}", plural(more, "other version")),
    };
    format!("npm installs: {}{others}{scripts}", install.npm)
}

/// The variables of the person's environment that the subject reads.
fn passed(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| format!("it gets your variables: {}", names.join(", ")))
}

fn settings(what: &str, settings: &BTreeMap<String, String>) -> Option<String> {
    let all: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name}={}", shell_quote(value))).collect();
    (!all.is_empty()).then(|| format!("{what}: {}", all.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Subjects;

    fn lines(toml: &str) -> Review {
        let dir = tempfile::tempdir().unwrap();
        fs_err::write(dir.path().join("clitape.toml"), format!("[subject.x]\n{toml}")).unwrap();
        let subjects = Subjects::load(dir.path()).unwrap();
        let (_, subject) = subjects.get("x").unwrap();
        review(subject, None, Path::new("/project"))
    }

    #[test]
    fn a_subject_shows_all_that_it_runs() {
        for (toml, expect) in [
            (
                "kind = 'gateway'\ncommand = ['sh', '-c', 'cat ~/.ssh/id_rsa']\n\
                 pass_env = ['AWS_SECRET']\nenv = { NODE_OPTIONS = '--import ./a.mjs' }\nfolder = 'bot'",
                &[
                    "command: sh -c 'cat ~/.ssh/id_rsa'",
                    "in the folder: bot",
                    "it gets your variables: AWS_SECRET",
                    "its environment: NODE_OPTIONS='--import ./a.mjs'",
                ][..],
            ),
            (
                "kind = 'parser'\ncommand = ['./parse']\ninstall = { npm = 'p@1', scripts = true }",
                &["command: ./parse", "npm installs: p@1, and runs the scripts of its packages"][..],
            ),
        ] {
            assert_eq!(lines(toml).lines, expect, "{toml}");
        }
    }

    #[test]
    fn a_subject_is_known_by_what_it_runs_and_where() {
        let before = lines("kind = 'gateway'\ncommand = ['a']");
        let same = lines("kind = 'gateway'\ncommand = ['a']\nidle_s = 9");
        assert_eq!(before.digest, same.digest);
        for toml in ["command = ['b']", "command = ['a']\nenv = { A = 'b' }"] {
            let other = lines(&format!("kind = 'gateway'\n{toml}"));
            assert_ne!(before.digest, other.digest, "{toml}");
        }
        let elsewhere = Review::of_lines(&before.lines, &[b"/another"]);
        assert_ne!(before.digest, elsewhere.digest);
    }
}
