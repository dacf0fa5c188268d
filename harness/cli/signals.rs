//! Handles the signals that ask the command to end: they set a flag, which the command checks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clitape_process::threads::start;
use clitape_process::{end_programs, remove_all};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::ExitStatus;
use crate::terminal;

/// The time that a command may go on after a signal if it works on data of other programs. It checks the flag between
/// two steps, and a step over much data takes seconds.
const LAST_STEP: Duration = Duration::from_millis(1_400);
/// The time for the end of its programs after that. Their supervisors continue after it.
const LAST_END: Duration = Duration::from_millis(200);
/// The time for the removal of the folders whose programs have ended.
const LAST_FOLDERS: Duration = Duration::from_secs(2);
/// The time for the last message, which blocks if its reader does not read.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// The number of signals after which the command exits at once.
const SIGNALS_TO_EXIT: usize = 3;

/// Returns a flag that SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGQUIT set. A command that finds it set ends its
/// programs and writes no files.
pub(crate) fn stop_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    on_signals(|| {})
}

/// Returns such a flag for a command that works on what other programs send. If the command has not ended in time, it
/// ends its programs and exits; its supervisors then remove their folders, as after a SIGKILL.
pub(crate) fn stop_in_time() -> anyhow::Result<Arc<AtomicBool>> {
    on_signals(|| {
        // Without a further thread, the next signals wait for this one.
        if start("last-step", end_in_time).is_err() {
            end_in_time();
        }
    })
}

/// Ends the command soon, with a last message if there is time for it.
fn end_in_time() {
    thread::sleep(LAST_STEP);
    end_all();
    // Without a thread for the message, it is left out.
    let _ = start("last-words", || terminal::note("stopped before all was done"));
    thread::sleep(LAST_WORDS);
    std::process::exit(ExitStatus::Nothing as i32);
}

/// Ends the programs and removes their folders, before an exit that drops nothing.
fn end_all() {
    end_programs(LAST_END);
    let (done, is_done) = std::sync::mpsc::channel();
    let remove = move || {
        remove_all();
        // An error means that this took too long.
        let _ = done.send(());
    };
    // Without a thread, the next command removes them.
    if start("last-folders", remove).is_ok() {
        // An error means the same: the next command removes what is left.
        let _ = is_done.recv_timeout(LAST_FOLDERS);
    }
}

/// Returns a flag that the signals set; `stopped` is called once, after the first one.
fn on_signals(stopped: impl FnOnce() + Send + 'static) -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = flag.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _context = runtime.enter();
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate(), SignalKind::quit()];
        // nohup(1) makes the command ignore SIGHUP, so that it continues without its terminal.
        if !is_hangup_ignored() {
            kinds.push(SignalKind::hangup());
        }
        kinds.into_iter().map(signal).collect::<Result<Vec<Signal>, _>>()?
    };
    let wait = move || {
        runtime.block_on(any(&mut signals));
        set.store(true, Ordering::Relaxed);
        stopped();
        for _ in 2..SIGNALS_TO_EXIT {
            runtime.block_on(any(&mut signals));
        }
        runtime.block_on(any(&mut signals));
        end_all();
        std::process::exit(ExitStatus::Nothing as i32);
    };
    start("signals", wait)?;
    Ok(flag)
}

/// Waits for one of the signals.
async fn any(signals: &mut [Signal]) {
    std::future::poll_fn(|context| {
        let is_ready = signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
        if is_ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

/// Returns whether SIGHUP was ignored when the command started. Only Linux reports this.
fn is_hangup_ignored() -> bool {
    let Ok(status) = std::fs::read("/proc/self/status") else { return false };
    let status = String::from_utf8_lossy(&status);
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}
