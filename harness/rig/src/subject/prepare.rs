//! Prepares all starts of a subject: the machine around it, the packages that it needs, and the file of `--log`, with
//! the whole output of a gateway from its first start to its last.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use clitape_process::host::HostPaths;
use clitape_process::{Checkout, Install, InstallLimits, Installed};
use clitape_recording::files::{self, FileError};
use clitape_recording::scenario::Workspace;
use clitape_runner::record::settings_digest;
use fs_err as fs;

use super::error::SubjectError;
use super::spec::{GatewaySpec, InstallSpec, Places, Writing};
use crate::limits::RigLimits;

/// The machine and the workspace around a run.
#[derive(Clone, Copy)]
pub struct RigHost<'a> {
    /// The workspace with the scenarios, the cassettes and `clitape.toml`.
    pub workspace: &'a Workspace,
    /// The machine's `PATH` and folders.
    pub host: &'a HostPaths,
    /// The program that is running, which is installed as `claude`.
    pub program: &'a Path,
    /// The folder for the packages that npm installs.
    pub cache: &'a Path,
    /// Reads a variable of the environment of this process.
    pub variable: &'a (dyn Fn(&str) -> Option<OsString> + Sync),
    /// The limits on the data that the subject sends.
    pub limits: RigLimits,
    /// The file for the whole output of a gateway, if the caller wants one.
    pub log: Option<&'a OutputLog>,
    /// A flag by which the caller ends the run.
    pub stop: &'a AtomicBool,
}

impl std::fmt::Debug for RigHost<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RigHost").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// The state that all starts of a subject share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prepared {
    /// The version that the command line names, or else the one in the settings.
    version: Option<String>,
    /// The packages that npm installed.
    installed: Option<Installed>,
    /// The folder of the tested revision.
    checkout: Option<PathBuf>,
}

/// Installs the packages of a gateway and checks its revision out, unless they are in the cache.
pub(crate) fn prepare_gateway(
    spec: &GatewaySpec,
    version: Option<&str>,
    rig: RigHost<'_>,
    note: &mut dyn FnMut(&str),
) -> Result<Prepared, SubjectError> {
    let named = version.or(spec.version.as_deref());
    let mut prepared = prepare(spec.install.as_ref(), named, rig, note)?;
    if let Some(repository) = &spec.checkout {
        let repository = rig.workspace.root().join(repository);
        prepared.checkout = Some(match named {
            None => fs::canonicalize(repository)?,
            Some(revision) => {
                let environment = build_environment(rig, &spec.pass_env);
                let checkout = Checkout {
                    repository: fs::canonicalize(repository)?,
                    revision: revision.to_owned(),
                    cache: rig.cache.join("subjects"),
                    build_id: build_id(&spec.build, &environment),
                    build: spec.build.iter().map(OsString::from).collect(),
                    environment,
                };
                checkout.run(InstallLimits::default(), rig.stop, note)?
            }
        });
    }
    Ok(prepared)
}

/// Returns a digest of a build's command and of the names of its variables; empty if the gateway has no build.
fn build_id(build: &[String], environment: &[(OsString, OsString)]) -> String {
    if build.is_empty() {
        return String::new();
    }
    let build = build.iter().map(String::as_bytes).collect();
    let names = environment.iter().map(|(name, _)| name.as_encoded_bytes()).collect();
    settings_digest(&[("build", build), ("environment", names)])[..12].to_owned()
}

/// The variables that every program gets from the environment of clitape, as far as they are set.
const PASSED: [&str; 4] = ["LANG", "LC_ALL", "TZ", "USER"];
/// The further variables for a build: the folders of its tools and caches, and the way to a registry.
pub(crate) const BUILD: [&str; 19] = [
    "HOME",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "JAVA_HOME",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "ALL_PROXY",
];

/// Returns the variables of clitape's own environment that a subject gets.
pub(crate) fn environment(rig: RigHost<'_>, more: &[String]) -> Vec<(OsString, OsString)> {
    variables(rig, PASSED.into_iter().chain(more.iter().map(String::as_str)))
}

/// Returns the environment of a build. Of the person's tokens it has only those that the subject gets too.
fn build_environment(rig: RigHost<'_>, more: &[String]) -> Vec<(OsString, OsString)> {
    let mut environment = variables(rig, BUILD.into_iter());
    environment.extend(self::environment(rig, more));
    environment.push(("PATH".into(), rig.host.path.clone()));
    environment
}

fn variables<'a>(
    rig: RigHost<'_>,
    names: impl Iterator<Item = &'a str>,
) -> Vec<(OsString, OsString)> {
    names.filter_map(|name| Some((name.into(), (rig.variable)(name)?))).collect()
}

/// Installs the packages of a subject, unless they are in the cache. `note` is called before slow steps.
pub(crate) fn prepare(
    install: Option<&InstallSpec>,
    version: Option<&str>,
    rig: RigHost<'_>,
    note: &mut dyn FnMut(&str),
) -> Result<Prepared, SubjectError> {
    let mut prepared = Prepared { version: version.map(str::to_owned), ..Prepared::default() };
    if let Some(install) = install {
        let package = prepared.places(rig).fill(&install.npm, Writing::Plain);
        if package.contains("{version}") {
            let what = "`install` needs a version; write it as SUBJECT@VERSION, or `version = \"…\"` beside it";
            return Err(SubjectError::Kind(what.to_owned()));
        }
        let install = Install {
            folder: rig.cache.join("subjects").join(folder_name(&package, install)),
            package,
            node: install.node.clone(),
            overrides: install.overrides.clone(),
            runs_scripts: install.scripts,
        };
        let installed = install.run(InstallLimits::default(), rig.host, rig.stop, note)?;
        prepared.installed = Some(installed);
    }
    Ok(prepared)
}

/// Returns the name of an install's folder: the package for people, and a digest of everything that decides its
/// contents, because characters other than letters, digits, dots and hyphens become hyphens.
fn folder_name(package: &str, install: &InstallSpec) -> String {
    let InstallSpec { npm: _, node, overrides, scripts } = install;
    let overrides = overrides.iter().flat_map(|(name, version)| [name, version]);
    let digest = settings_digest(&[
        ("npm", vec![package.as_bytes()]),
        ("node", node.iter().map(String::as_bytes).collect()),
        ("overrides", overrides.map(String::as_bytes).collect()),
        ("scripts", vec![&[u8::from(*scripts)]]),
    ]);
    let safe = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
    let name: String = package.trim_start_matches(['.', '@']).chars().map(safe).collect();
    format!("{}-{}", &name[..name.len().min(LONGEST_FOLDER_NAME)], &digest[..16])
}

/// The most bytes of the package in the name of a folder.
const LONGEST_FOLDER_NAME: usize = 80;

impl Prepared {
    /// Returns the placeholders that do not depend on a start, with their values.
    pub(crate) fn places(&self, rig: RigHost<'_>) -> Places {
        let mut places = Places::default();
        // An absolute path, because the gateway may start in another folder.
        let root = rig.workspace.root();
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        places.set("root", root.to_string_lossy());
        if let Some(version) = &self.version {
            places.set("version", version);
        }
        if let Some(checkout) = &self.checkout {
            places.set("checkout", checkout.to_string_lossy());
        }
        if let Some(installed) = &self.installed {
            places.set("install", installed.folder.to_string_lossy());
            let node = installed.node.clone().or_else(|| rig.host.which("node"));
            let node = node.unwrap_or_else(|| "node".into());
            places.set("node", node.to_string_lossy());
            if let Some(folder) = node.parent() {
                places.set("node_folder", folder.to_string_lossy());
            }
        }
        places
    }
}

/// The most bytes of a line that are held back until its end arrives.
const LONGEST_HELD_LINE: usize = 64 * 1024;

/// A log file, with the first error of writing it.
#[derive(Debug)]
pub struct OutputLog {
    file: Arc<Mutex<LogFile>>,
}

#[derive(Debug)]
struct LogFile {
    file: File,
    failed: Option<io::Error>,
}

impl OutputLog {
    /// Creates the file, or empties an existing one.
    ///
    /// # Errors
    ///
    /// [`FileError`] if it can't be created.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        files::replace(path, "")?;
        let file = files::append(path)?;
        Ok(Self { file: Arc::new(Mutex::new(LogFile { file, failed: None })) })
    }

    /// Returns the first error of writing the file, once.
    ///
    /// # Errors
    ///
    /// The error of the first write that failed.
    pub fn check(&self) -> io::Result<()> {
        lock(&self.file).failed.take().map_or(Ok(()), Err)
    }

    /// Returns a writer for the output of one program. `mask` is applied to each line, to remove the token.
    pub(crate) fn sink(
        &self,
        mask: impl Fn(&str) -> String + Send + 'static,
    ) -> impl FnMut(&[u8]) + Send + 'static {
        let mut lines = OutputLines { file: self.file.clone(), mask, rest: Vec::new() };
        move |bytes| lines.take(bytes)
    }
}

fn lock(file: &Mutex<LogFile>) -> std::sync::MutexGuard<'_, LogFile> {
    // A poisoned lock is safe: writing can't panic.
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lines of one program. Dropping it writes a last line that has no end.
struct OutputLines<M: Fn(&str) -> String> {
    file: Arc<Mutex<LogFile>>,
    mask: M,
    rest: Vec<u8>,
}

impl<M: Fn(&str) -> String> OutputLines<M> {
    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.rest.extend(part);
            if part.ends_with(b"\n") || self.rest.len() > LONGEST_HELD_LINE {
                self.write();
            }
        }
    }

    fn write(&mut self) {
        let line = (self.mask)(&String::from_utf8_lossy(&self.rest));
        self.rest.clear();
        let mut log = lock(&self.file);
        if let Err(error) = log.file.write_all(line.as_bytes()) {
            log.failed.get_or_insert(error);
        }
    }
}

impl<M: Fn(&str) -> String> Drop for OutputLines<M> {
    fn drop(&mut self) {
        self.write();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn no_two_installs_share_a_folder() {
        let install = |node: Option<&str>, overrides: &[(&str, &str)], scripts: bool| InstallSpec {
            npm: String::new(),
            node: node.map(str::to_owned),
            overrides: overrides
                .iter()
                .map(|(a, b)| ((*a).into(), (*b).into()))
                .collect::<BTreeMap<_, _>>(),
            scripts,
        };
        let plain = install(None, &[], false);
        let mut names = Vec::new();
        for (package, install) in [
            ("openclaw@1", &plain),
            ("openclaw/1", &plain),
            ("openclaw-1", &plain),
            ("@openclaw-1", &plain),
            (".openclaw-1", &plain),
            ("openclaw@1", &install(Some("24"), &[], false)),
            ("openclaw@1", &install(Some("npm:evil@24"), &[], false)),
            ("openclaw@1_node-24", &plain),
            ("openclaw@1", &install(None, &[("c", "2")], false)),
            ("openclaw@1", &install(None, &[("c", "npm:d@2")], false)),
            ("openclaw@1", &install(None, &[], true)),
            ("../x@1", &plain),
            (&"x".repeat(400), &plain),
            (&"x".repeat(401), &plain),
        ] {
            let name = folder_name(package, install);
            assert!(!name.starts_with('.') && !name.contains('/') && name.len() < 128, "{name}");
            assert_eq!(name, folder_name(package, install));
            assert!(!names.contains(&name), "{package}: {name}");
            names.push(name);
        }
        assert!(names[0].starts_with("openclaw-1-"), "{}", names[0]);
    }

    #[test]
    fn all_that_is_printed_is_kept_line_by_line_without_the_token() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        for (parts, expect) in [
            (&[&b"a\nb"[..], b"c\n"][..], "a\nbc\n".to_owned()),
            (&[b"no end"], "no end".to_owned()),
            (&[b"the to", b"ken is TOKEN\nTOK", b"EN"], "the token is <token>\n<token>".to_owned()),
            (&[b"\xff\n"], "\u{fffd}\n".to_owned()),
            (&[&[b'x'; 100_000]], "x".repeat(100_000)),
            (&[], String::new()),
        ] {
            let log = OutputLog::create(&path).unwrap();
            let mut sink = log.sink(|line| line.replace("TOKEN", "<token>"));
            parts.iter().for_each(|part| sink(part));
            drop(sink);
            assert_eq!(fs_err::read_to_string(&path).unwrap(), expect, "{parts:?}");
            log.check().unwrap();
        }
        assert!(OutputLog::create(&dir.path().join("none/log")).is_err());
    }
}
