//! Confines this process by Landlock.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, NetPort, RestrictionStatus, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
    path_beneath_rules,
};

use super::bounds::{Bounds, DEVICES, SYSTEM};

/// The version of Landlock whose rights are requested; an older kernel enforces the rights that it supports.
const RIGHTS: ABI = ABI::V9;

/// Confines this process and the processes that it starts. Returns whether the system can do that.
pub(super) fn restrict(bounds: &Bounds) -> bool {
    apply(bounds).is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

fn apply(bounds: &Bounds) -> Result<RestrictionStatus, RulesetError> {
    let read = AccessFs::from_read(RIGHTS);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    // A device that root makes in its folder would be one of the machine, such as a disk or a terminal.
    let devices: BitFlags<AccessFs> = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let write = AccessFs::from_all(RIGHTS) & !devices;
    let ports = bounds.port.map(|port| NetPort::new(port, AccessNet::ConnectTcp));
    let ports = ports.into_iter().map(Ok::<_, RulesetError>);
    Ruleset::default()
        .handle_access(AccessFs::from_all(RIGHTS))?
        .handle_access(AccessNet::ConnectTcp)?
        .scope(Scope::AbstractUnixSocket)?
        .scope(Scope::Signal)?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules(&bounds.read, read))?
        .add_rules(path_beneath_rules(DEVICES, device))?
        .add_rules(path_beneath_rules(&bounds.write, write))?
        .add_rules(ports)?
        .restrict_self()
}
