//! Virtual time: a paused tokio runtime without any IO, in which a wait takes no time.

/// Runs `work` to its end, in virtual time.
pub(super) fn in_virtual_time<T>(work: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    match runtime {
        Ok(runtime) => runtime.block_on(work),
        // A runtime without IO asks nothing of the system that could fail.
        Err(error) => unreachable!("no runtime in memory: {error}"),
    }
}
