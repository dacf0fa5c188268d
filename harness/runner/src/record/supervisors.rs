//! The supervisors that this process has started, and the end of what they can't end: a program may stop or kill the
//! process above it.
//!
//! This process is a subreaper once it has a supervisor: what is below one that was killed becomes its child. All other
//! children of it are supervisors, so that such an orphan is known by not being one.

use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::processes::{descendants_by_child, end, zombies};

/// The time in which a supervisor ends its program by itself.
const GRACE: Duration = Duration::from_millis(250);
/// The longest time that is spent on ending what is below one, or what is left of one.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two checks whether it has ended.
const PAUSE: Duration = Duration::from_millis(1);

/// The ids of the supervisors that run. A thread that starts or sweeps has it, so that no new supervisor is taken for an
/// orphan.
static SUPERVISORS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn supervisors() -> MutexGuard<'static, BTreeSet<i32>> {
    // A set of numbers is whole after any panic.
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A supervisor. Dropping this ends it and all that is below it; it must have been asked to end before.
pub(super) struct Supervisor(Child);

impl Supervisor {
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        let mut supervisors = supervisors();
        nix::sys::prctl::set_child_subreaper(true)?;
        let child = command.spawn()?;
        supervisors.insert(id(&child));
        Ok(Self(child))
    }

    /// The process and its pipes.
    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let id = id(&self.0);
        let begin = Instant::now();
        // An error means that it has ended.
        while let Ok(None) = self.0.try_wait() {
            if begin.elapsed() > GRACE {
                end_below(id);
                let _ = self.0.kill();
            }
            std::thread::sleep(PAUSE);
        }
        let mut supervisors = supervisors();
        supervisors.remove(&id);
        let has_ended_all =
            self.0.try_wait().is_ok_and(|ended| ended.is_some_and(|it| it.success()));
        if !has_ended_all {
            let orphans = || {
                let all = descendants_by_child(nix::unistd::getpid().as_raw());
                let left = all.into_iter().filter(|(_, child)| !supervisors.contains(child));
                left.map(|(pid, _)| pid).collect()
            };
            end(orphans, || reap(&supervisors), PATIENCE);
        }
    }
}

fn id(child: &Child) -> i32 {
    // The system gives a process a positive number.
    child.id().cast_signed()
}

/// Ends what is below a supervisor that does not end it.
fn end_below(supervisor: i32) {
    let below = || descendants_by_child(supervisor).into_iter().map(|(pid, _)| pid).collect();
    end(below, || true, PATIENCE);
}

/// Removes the orphans that have ended. Those that have not are found by their parent.
fn reap(supervisors: &BTreeSet<i32>) -> bool {
    for pid in zombies().into_iter().filter(|pid| !supervisors.contains(&pid.as_raw())) {
        // An error means that it was reaped already.
        let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
    }
    true
}

/// Ends all programs that run, within `limit`, in a process that exits next: no program is started any more. The supervisors
/// remove the folders of the programs once this process is gone.
pub fn end_programs(limit: Duration) {
    let supervisors = supervisors();
    let programs = || {
        let all = descendants_by_child(nix::unistd::getpid().as_raw()).into_iter();
        all.map(|(pid, _)| pid).filter(|pid| !supervisors.contains(&pid.as_raw())).collect()
    };
    end(programs, || reap(&supervisors), limit);
    for supervisor in supervisors.iter() {
        // An error means that it has ended.
        let _ = kill(Pid::from_raw(*supervisor), Signal::SIGCONT);
    }
    std::mem::forget(supervisors);
}
