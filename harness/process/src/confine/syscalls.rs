//! A filter for the system calls that neither Landlock nor a file tree covers: sockets other than TCP and Unix, ways to
//! connect that Landlock's rule for TCP misses, memory and keys that outlive the processes, other processes, and input
//! that is put into a terminal.
//!
//! A refused call fails with `EPERM`. A program for another instruction set, such as a 32-bit one, is killed, because
//! its calls have other numbers.

use std::collections::BTreeMap;

use nix::libc::{self, c_long};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// The call `open_tree_attr` of Linux 6.15, on every architecture.
const OPEN_TREE_ATTR: c_long = 467;

/// The system calls that are refused with any arguments.
const REFUSED: [c_long; 43] = [
    // Its requests make sockets and connect without a separate system call.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The shared memory, queues and semaphores of System V, and POSIX queues, outlive the processes that make them.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // The keys of the user and of the session.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The memory and files of other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Another view of the file tree, or one without its read-only flags.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    // Parts of the kernel without a use for a tool.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
];

/// The system calls whose first argument is a process.
const OF_A_PROCESS: [c_long; 7] = [
    libc::SYS_prlimit64,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// The bits of a socket's type besides its flags (`SOCK_TYPE_MASK` of the kernel).
const SOCKET_TYPE: u64 = 0xf;

/// Filters the system calls of this process and of those that it starts. Returns whether the system can do that.
pub(super) fn restrict() -> bool {
    let program = TargetArch::try_from(std::env::consts::ARCH).and_then(filter);
    program.is_ok_and(|program| seccompiler::apply_filter(&program).is_ok())
}

fn filter(arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|&call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, sockets()?);
    rules.insert(libc::SYS_socketpair, vec![rule(&[(0, SeccompCmpOp::Ne, libc::AF_UNIX)])?]);
    // TCP Fast Open connects when it sends, which Landlock's rule for connections misses.
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        rules.insert(call, vec![rule(&[has(flags, libc::MSG_FASTOPEN)])?]);
    }
    let into_terminals = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| {
        let request = SeccompCondition::new(1, Dword, SeccompCmpOp::Eq, request)?;
        SeccompRule::new(vec![request])
    });
    rules.insert(libc::SYS_ioctl, into_terminals.into_iter().collect::<Result<_, _>>()?);
    // The limits, the pages and the processor time of another process; 0 is the caller.
    for call in OF_A_PROCESS {
        rules.insert(call, vec![rule(&[(0, SeccompCmpOp::Ne, 0)])?]);
    }
    // The priorities of a process, a group or a user.
    for (call, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        let others = [(0, SeccompCmpOp::Ne, process), (1, SeccompCmpOp::Ne, 0)];
        rules.insert(
            call,
            others.iter().map(|it| rule(std::slice::from_ref(it))).collect::<Result<_, _>>()?,
        );
    }
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let program: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()?;
    Ok(X32.into_iter().filter(|_| arch == TargetArch::x86_64).chain(program).collect())
}

/// The instructions in front of the filter on x86-64: a call of the x32 ABI has another number and passes the filter's
/// rules, so it fails as on a kernel without that ABI.
const X32: [sock_filter; 3] = [
    // Loads the number of the call.
    sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 },
    // Skips the next instruction unless the number has the bit of the ABI.
    sock_filter { code: 0x35, jt: 0, jf: 1, k: 0x4000_0000 },
    // Returns the error `ENOSYS`.
    sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x0005_0000 | libc::ENOSYS.unsigned_abs() },
];

/// The rules that refuse a socket: another family than Unix and the internet, and on the internet another type than a
/// stream or another protocol than TCP, such as MPTCP.
fn sockets() -> Result<Vec<SeccompRule>, BackendError> {
    use SeccompCmpOp::{MaskedEq, Ne};

    let not_unix = (0, Ne, libc::AF_UNIX);
    let mut rules = vec![
        rule(&[not_unix.clone(), (0, Ne, libc::AF_INET), (0, Ne, libc::AF_INET6)])?,
        rule(&[not_unix.clone(), (2, Ne, 0), (2, Ne, libc::IPPROTO_TCP)])?,
    ];
    for other in (0..=0xf).filter(|kind| *kind != libc::SOCK_STREAM) {
        rules.push(rule(&[not_unix.clone(), (1, MaskedEq(SOCKET_TYPE), other)])?);
    }
    Ok(rules)
}

/// The condition that an argument has a flag.
fn has(argument: u8, flag: i32) -> Condition {
    (argument, SeccompCmpOp::MaskedEq(u64::from(flag.unsigned_abs())), flag)
}

/// The number of an argument, the comparison, and the value to compare it with.
type Condition = (u8, SeccompCmpOp, i32);

/// Returns the rule that matches a call if all conditions are true.
fn rule(conditions: &[Condition]) -> Result<SeccompRule, BackendError> {
    let conditions = conditions.iter().map(|(argument, comparison, value)| {
        let value = u64::from(value.unsigned_abs());
        SeccompCondition::new(*argument, Dword, comparison.clone(), value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}
