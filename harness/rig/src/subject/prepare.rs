//! What is the same for all starts of a subject: the machine around it, and what is installed for it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clitape_runner::host::HostPaths;
use clitape_runner::record::{Checkout, Install, Installed, ResolveSettings};
use clitape_runner::scenario::Workspace;
use fs_err as fs;

use super::error::SubjectError;
use super::placeholders::{Places, Writing};
use super::spec::{GatewaySpec, InstallSpec};
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
    /// The folder for what npm installs.
    pub cache: &'a Path,
    /// The environment of this process, by name.
    pub variable: &'a (dyn Fn(&str) -> Option<OsString> + Sync),
    /// The limits on what the subject sends.
    pub limits: RigLimits,
    /// A flag that ends the run when the caller sets it.
    pub stop: &'a AtomicBool,
}

impl std::fmt::Debug for RigHost<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RigHost").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// What is the same for all starts of a subject.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prepared {
    /// The version that the command line names, or the subject.
    pub(crate) version: Option<String>,
    /// What npm installed.
    installed: Option<Installed>,
    /// The folder of the revision that is tested.
    checkout: Option<PathBuf>,
}

/// Installs what a gateway needs and checks its revision out, unless they are in the cache.
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
                let checkout = Checkout {
                    repository: fs::canonicalize(repository)?,
                    revision: revision.to_owned(),
                    cache: rig.cache.join("subjects"),
                    build: spec.build.iter().map(OsString::from).collect(),
                };
                checkout.run(ResolveSettings::default(), rig.stop, note)?
            }
        });
    }
    Ok(prepared)
}

/// Installs what a subject needs, unless it is in the cache. `note` is called before slow steps.
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
        let installed = install.run(ResolveSettings::default(), rig.host, rig.stop, note)?;
        prepared.installed = Some(installed);
    }
    Ok(prepared)
}

/// The name of the folder of an install: letters, digits, dots and hyphens of all that it depends on.
fn folder_name(package: &str, install: &InstallSpec) -> String {
    let overrides = install.overrides.iter().map(|(name, version)| format!("{name}-{version}"));
    let node = install.node.iter().map(|node| format!("node-{node}"));
    let scripts = install.scripts.then(|| "scripts".to_owned());
    let parts = std::iter::once(package.to_owned()).chain(node).chain(overrides).chain(scripts);
    let name = parts.collect::<Vec<_>>().join("_");
    let safe = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
    name.trim_start_matches(['.', '@']).chars().map(safe).collect()
}

impl Prepared {
    /// The placeholders that do not depend on a start.
    pub(crate) fn places(&self, rig: RigHost<'_>) -> Places {
        let mut places = Places::default();
        // The gateway may start in another folder.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_folder_of_an_install_names_all_it_depends_on() {
        let install = |overrides: &[(&str, &str)]| InstallSpec {
            npm: String::new(),
            node: Some("24".to_owned()),
            overrides: overrides
                .iter()
                .map(|(a, b)| ((*a).into(), (*b).into()))
                .collect::<BTreeMap<_, _>>(),
            scripts: false,
        };
        assert_eq!(folder_name("openclaw@2026.6.1", &install(&[])), "openclaw-2026.6.1_node-24");
        let name = folder_name("@a/b@1", &install(&[("c", "2")]));
        assert_eq!(name, "a-b-1_node-24_c-2");
        assert!(!folder_name("../x@1", &install(&[])).starts_with('.'));
    }
}
