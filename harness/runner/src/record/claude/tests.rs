//! Tests of the choice and installation of the CLI, with shell scripts in place of the CLI and of npm.

use std::os::unix::fs::PermissionsExt as _;

use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_process::InstallLimits;
use clitape_recording::cassette::sha256;
use tempfile::TempDir;

use super::*;
use crate::record::tests::host_paths;

static RUNS: AtomicBool = AtomicBool::new(false);

/// Writes an executable shell script.
fn program(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn resolve_path(path: &Path, cache: &Path, limits: ResolveSettings) -> Result<Claude, RecordError> {
    let host = host_paths();
    resolve(&ClaudeChoice::Path(path.to_owned()), cache, limits, &host, &RUNS, &mut |_| {})
}

fn install(
    version: &str,
    cache: &Path,
    npm: &Npm,
    limits: ResolveSettings,
    note: &mut dyn FnMut(&str),
) -> Result<Claude, RecordError> {
    let host = host_paths();
    installed(&version_of(version), &cache.join(version), npm, limits, &host, &RUNS, note)
}

fn version_of(text: &str) -> CliVersion {
    text.parse().unwrap()
}

#[test]
fn choices_are_read() {
    for (text, expect) in [
        ("npm:2.1.329", Ok(ClaudeChoice::Npm(version_of("2.1.329")))),
        ("path", Ok(ClaudeChoice::OnPath)),
        ("./path", Ok(ClaudeChoice::Path("./path".into()))),
        ("2.1.330", Err("did you mean `npm:2.1.330`? A program of this name is `./2.1.330`")),
        ("./2.1.330", Ok(ClaudeChoice::Path("./2.1.330".into()))),
        ("", Err("write a path, npm:VERSION or path")),
    ] {
        assert_eq!(text.parse(), expect.map_err(str::to_owned), "{text}");
    }
    // npm would take these as the place of a package.
    for version in ["", "../x", "1/2", "/any/dir", "file:/x/evil.tgz", "npm:evil@1", "latest"] {
        let error = format!("npm:{version}").parse::<ClaudeChoice>().unwrap_err();
        assert!(error.contains("can't be the version of a CLI"), "{error}");
    }
}

#[test]
fn a_program_tells_its_version() {
    let dir = tempfile::tempdir().unwrap();
    let choose = |path: &Path| resolve_path(path, dir.path(), ResolveSettings::default());
    let good = program(&dir, "good", "[ \"$1\" = --version ] && echo '2.1.329 (Claude Code)'");
    let sha256 = sha256(&fs::read(&good).unwrap());
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&good, &link).unwrap();
    for program in [good, link] {
        let expect = Claude {
            program: program.clone(),
            version: version_of("2.1.329"),
            sha256: sha256.clone(),
        };
        assert_eq!(choose(&program).unwrap(), expect);
    }
    let bad = program(&dir, "bad", "echo no such option; echo oh >&2");
    assert_eq!(
        choose(&bad).unwrap_err().to_string(),
        format!(
            "{} --version prints no version\n  stderr: oh\n  last line: no such option\n; \
             name the program with `--claude PATH`",
            bad.display()
        )
    );
    let error = choose(&dir.path().join("none")).unwrap_err().to_string();
    assert!(error.contains("can't run") && error.contains("none"), "{error}");
}

/// Returns an npm that installs a `claude` of `version` and logs its calls.
fn npm(dir: &TempDir, version: &str) -> Npm {
    let text = format!(
        "echo \"$@\" >> {0}/log\n\
         while [ \"$1\" != --prefix ]; do shift; done\n\
         mkdir -p $2/node_modules/.bin\n\
         printf '#!/bin/sh\\necho {version}\\n' > $2/node_modules/.bin/claude\n\
         chmod +x $2/node_modules/.bin/claude",
        dir.path().display()
    );
    Npm { program: Some(program(dir, "npm", &text)) }
}

#[test]
fn npm_installs_once() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache/claude");
    let npm = npm(&dir, "2.1.329");
    let mut notes = Vec::new();
    for _ in 0..2 {
        let note = &mut |s: &str| notes.push(s.to_owned());
        let claude = install("2.1.329", &cache, &npm, ResolveSettings::default(), note).unwrap();
        assert_eq!(claude.program, cache.join("2.1.329/node_modules/.bin/claude"));
    }
    assert_eq!(notes, ["installing claude 2.1.329 with npm"]);
    let log = fs::read_to_string(dir.path().join("log")).unwrap();
    assert_eq!(log.lines().count(), 1);
    assert!(log.trim().ends_with("@anthropic-ai/claude-code@2.1.329"), "{log}");
    let left: Vec<_> = fs::read_dir(&cache).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["2.1.329"]);
}

#[test]
fn two_who_install_at_once_do_not_break_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("claude");
    let npm = npm(&dir, "2.1.329");
    std::thread::scope(|scope| {
        let one = || {
            let limits = ResolveSettings::default();
            install("2.1.329", &cache, &npm, limits, &mut |_| {}).map(|claude| claude.version)
        };
        let all: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        for version in all {
            assert_eq!(version.join().unwrap().unwrap(), "2.1.329");
        }
    });
}

#[test]
fn what_can_not_be_installed_is_told_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let broken =
        Npm { program: Some(program(&dir, "broken", "echo E404 no such version >&2; exit 1")) };
    let silent = Npm { program: Some(program(&dir, "silent", "")) };
    for (npm, part, left) in [
        (&Npm { program: None }, "there is no `npm` on PATH; install Node.js", 0),
        (
            &broken,
            "npm could not install @anthropic-ai/claude-code@9.9.9: E404 no such version; run `npm",
            0,
        ),
        (&npm(&dir, "1.0.0"), "is version 1.0.0, not 9.9.9; remove ", 1),
        (&silent, "can't run ", 1),
    ] {
        let cache = tempfile::tempdir_in(&dir).unwrap();
        let error = install("9.9.9", cache.path(), npm, ResolveSettings::default(), &mut |_| {})
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), left, "{error}");
    }
}

#[test]
fn a_limit_on_the_way_to_a_cli_is_told_with_its_option() {
    let dir = tempfile::tempdir().unwrap();
    let low = ResolveSettings {
        version_time: Duration::from_millis(300),
        version_output: ByteSize::kib(1),
        install: InstallLimits { time: Duration::from_millis(300), output: ByteSize::kib(1) },
        ..ResolveSettings::default()
    };
    for (script, by_npm, by_itself) in [
        (
            "sleep 600",
            "npm could not install @anthropic-ai/claude-code@9.9.9: it had not ended after 0.3 s and \
             was ended; raise the limit with `--install-timeout`",
            "--version had not ended after 0.3 s and was ended; raise the limit with `--version-timeout`",
        ),
        (
            "exec yes",
            "it printed more than 1KiB on stdout or stderr and was ended; raise the limit with \
             `--max-install-output`",
            "--version printed more than 1KiB on stdout or stderr and was ended; raise the limit with \
             `--max-version-output`; or name the program with",
        ),
        (
            "exec yes >&2",
            "raise the limit with `--max-install-output`",
            "raise the limit with `--max-version-output`",
        ),
    ] {
        let program = program(&dir, "program", script);
        let error = resolve_path(&program, dir.path(), low).unwrap_err().to_string();
        assert!(error.contains(by_itself), "{error}");
        let cache = tempfile::tempdir_in(&dir).unwrap();
        let npm = Npm { program: Some(program) };
        let error = install("9.9.9", cache.path(), &npm, low, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(by_npm), "{error}");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0, "nothing is left over");
    }
}
