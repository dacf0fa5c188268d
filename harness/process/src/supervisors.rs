//! The supervisors that this process has started, and the end of the processes that they can't end, because a program
//! may stop or kill the process above it.
//!
//! This process is a subreaper once it has a supervisor: the processes below a killed supervisor become its children.
//! All other children of it are supervisors, so that a child that is not one is such an orphan.

use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::processes::{PATIENCE, descendants, descendants_by_child, end, zombies};

/// The time in which a supervisor ends its program by itself.
const GRACE: Duration = Duration::from_millis(250);
/// The time between two checks whether it has ended.
const PAUSE: Duration = Duration::from_millis(1);

/// The ids of the running supervisors. A thread that starts one, or lists orphans, holds the lock, so that no new
/// supervisor is taken for an orphan.
static SUPERVISORS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn supervisors() -> MutexGuard<'static, BTreeSet<i32>> {
    // The set is valid after any panic.
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A supervisor. Dropping it ends it and all processes below it; it must have been asked to end before.
pub(super) struct Supervisor(Child);

impl Supervisor {
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        let mut supervisors = supervisors();
        nix::sys::prctl::set_child_subreaper(true)?;
        let child = command.spawn()?;
        supervisors.insert(id(&child));
        Ok(Self(child))
    }

    /// Returns the process and its pipes.
    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let id = id(&self.0);
        let begin = Instant::now();
        let has_ended_all = loop {
            match self.0.try_wait() {
                Ok(None) => {}
                // An error means that it has ended.
                ended => break ended.is_ok_and(|ended| ended.is_some_and(|it| it.success())),
            }
            if begin.elapsed() > GRACE {
                end(|| descendants(id), || true, PATIENCE);
                let _ = self.0.kill();
            }
            std::thread::sleep(PAUSE);
        };
        supervisors().remove(&id);
        if !has_ended_all {
            // Another thread may end the command meanwhile, and waits only for a list.
            end(|| orphans(&supervisors()), || reap(&supervisors()), PATIENCE);
        }
    }
}

fn id(child: &Child) -> i32 {
    // The system gives a process a positive number.
    child.id().cast_signed()
}

/// Returns the processes below this one that have lost their supervisor.
fn orphans(supervisors: &BTreeSet<i32>) -> Vec<Pid> {
    let all = descendants_by_child(nix::unistd::getpid().as_raw()).into_iter();
    all.filter(|(_, child)| !supervisors.contains(child)).map(|(pid, _)| pid).collect()
}

/// Removes the orphans that have ended, and always returns true: [`orphans`] finds those that have not.
fn reap(supervisors: &BTreeSet<i32>) -> bool {
    for pid in zombies().into_iter().filter(|pid| !supervisors.contains(&pid.as_raw())) {
        // An error means that it was reaped already.
        let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
    }
    true
}

/// Ends all running programs, within `limit`, in a process that exits next: no other program can be started. The
/// supervisors remove the folders of the programs once this process has ended.
pub fn end_programs(limit: Duration) {
    let supervisors = supervisors();
    let programs = || {
        let all = descendants(nix::unistd::getpid().as_raw()).into_iter();
        all.filter(|pid| !supervisors.contains(&pid.as_raw())).collect()
    };
    end(programs, || reap(&supervisors), limit);
    for supervisor in supervisors.iter() {
        // An error means that it has ended.
        let _ = kill(Pid::from_raw(*supervisor), Signal::SIGCONT);
    }
    std::mem::forget(supervisors);
}
