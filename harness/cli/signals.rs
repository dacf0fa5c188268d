//! Signals that ask the command to end: they set a flag, and what was started is ended in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::ExitStatus;

/// After so many signals the command ends at once; what it started then ends by itself.
const PATIENCE: usize = 3;

/// A flag that Ctrl-C sets, and so do SIGTERM, SIGHUP and SIGQUIT: what was started is ended, and
/// nothing is written.
pub(crate) fn stop_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = flag.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _context = runtime.enter();
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate(), SignalKind::quit()];
        // nohup(1) has it ignored, so that the command outlives its terminal.
        if !is_hangup_ignored() {
            kinds.push(SignalKind::hangup());
        }
        kinds.into_iter().map(signal).collect::<Result<Vec<Signal>, _>>()?
    };
    thread::spawn(move || {
        for _ in 1..PATIENCE {
            runtime.block_on(any(&mut signals));
            set.store(true, Ordering::Relaxed);
        }
        runtime.block_on(any(&mut signals));
        std::process::exit(ExitStatus::Nothing as i32);
    });
    Ok(flag)
}

/// Waits for one of the signals.
async fn any(signals: &mut [Signal]) {
    std::future::poll_fn(|context| {
        let come = signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
        if come { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

/// Whether SIGHUP was ignored when the command was started; known on Linux alone.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}
