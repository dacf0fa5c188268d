use clap::{Parser, ValueEnum};
use clitape_judge::FindingCommand;
use clitape_recording::scenario::{ChatProfile, DeliverySpec, StreamBreak};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;

/// The arguments of `clitape replay`, its name first.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[allow(dead_code, reason = "the name of the command is not looked at")]
    command: String,
    #[command(flatten)]
    request: ReplayRequest,
}

fn parsed(args: impl IntoIterator<Item = OsString>) -> ReplayRequest {
    Line::try_parse_from(args).unwrap_or_else(|error| panic!("{error}")).request
}

fn one<T: ValueEnum + std::fmt::Debug + 'static>() -> impl Strategy<Value = T> {
    select(T::value_variants())
}

fn run() -> impl Strategy<Value = RunSpec> {
    let stuck = option::of(1..=1_000_000u64);
    let stream_break = option::of((1..=1_000_000u64, 0..=9u64))
        .prop_map(|parts| parts.map(|(after, last)| StreamBreak { after, last: last.min(after) }));
    let stuck = (stuck, stream_break);
    let parts = (any::<bool>(), one::<DeliverySpec>(), 1..=86_400u64, any::<bool>(), stuck);
    parts.prop_map(|(silent, delivery, limit_s, resume, (stuck_callback, stream_break))| RunSpec {
        silent,
        delivery,
        limit_s,
        resume,
        stuck_callback,
        stream_break,
        ..RunSpec::default()
    })
}

fn faults() -> impl Strategy<Value = Vec<Fault>> {
    let words = ["2:rate-limit:3s", "1:not-modified", "4:slow:700ms", "3:hang", "9:lost-reply"];
    let fault = |word: &str| word.parse().unwrap();
    subsequence(words.to_vec(), 0..=3).prop_map(move |words| words.into_iter().map(fault).collect())
}

/// Requests with each way to cut and delay: a plan, a pace, or cuts with or without a seed.
fn pieces() -> impl Strategy<Value = ReplayRequest> {
    let plan = r#"\{"format":1,"steps":\[\[0,[1-9]\]\]\}|[a-z ']{1,9}/[a-z]{1,9}\.json"#;
    let kinds = subsequence(vec![FaultKind::Slow, FaultKind::Hang, FaultKind::RateLimit], 0..=3);
    let sized = (1..=9_999u64).prop_map(Cut::Size);
    let cut = prop_oneof![select(&[Cut::None, Cut::Line, Cut::Byte, Cut::Random][..]), sized];
    let new = || ReplayRequest::new("");
    prop_oneof![
        plan.prop_map(move |plan| ReplayRequest { plan: plan.parse().ok(), ..new() }),
        (faults(), 0..=PACE_MOST_MS).prop_map(move |(faults, pace)| ReplayRequest {
            faults,
            pace: Some(pace),
            ..new()
        }),
        (faults(), option::of(cut.clone()), any::<u64>(), kinds).prop_map(
            move |(faults, cut, seed, seed_faults)| ReplayRequest {
                faults,
                cut,
                seed: Some(seed),
                seed_faults,
                ..new()
            }
        ),
        (faults(), option::of(cut)).prop_map(move |(faults, cut)| ReplayRequest {
            faults,
            cut,
            ..new()
        }),
    ]
}

fn request() -> impl Strategy<Value = ReplayRequest> {
    let chat = (one::<ChatMode>(), any::<bool>(), one::<ChatProfile>())
        .prop_map(|(mode, reasoning, profile)| Chat { mode, reasoning, profile });
    let lanes = subsequence(Lane::ALL.to_vec(), 1..=7);
    let input = "[a-z'$ ü]{1,9}(/[0-9.]{1,9})?";
    (input, chat, any::<bool>(), run(), pieces(), lanes, any::<bool>()).prop_map(
        |(input, chat, terminal, run, pieces, lanes, json)| {
            let (input, acp) = (input.into(), AcpClient { terminal });
            ReplayRequest { input, chat, acp, run, lanes, json, ..pieces }
        },
    )
}

proptest! {
    #[test]
    fn arguments_give_the_request_that_gave_them(request in request()) {
        let args = request.args();
        let again = parsed(args.clone());
        prop_assert_eq!(&again, &request);
        prop_assert_eq!(again.args(), args);
    }

    #[test]
    fn a_report_may_show_every_request_as_a_command(request in request()) {
        for program in ["clitape", "clitape --root '/my work'"] {
            let line = request.line(program);
            prop_assert!(FindingCommand::read(line.clone()).is_own(), "{line}");
        }
    }
}

#[test]
fn a_shell_reads_the_line_as_the_arguments() {
    let request = ReplayRequest {
        plan: Some(PlanArg::Json(r#"{"format":1,"steps":[[0,7]],"faults":["1:hang"]}"#.into())),
        ..ReplayRequest::new("it's $HOME/a capture.jsonl")
    };
    let line = request.line("printf '%s\\n'");
    let shell = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
    let words = String::from_utf8(shell.stdout).unwrap();
    assert_eq!(parsed(words.lines().map(OsString::from)), request);
}

#[test]
fn a_line_says_only_what_is_not_the_default() {
    let request = ReplayRequest::new("cassettes/x/1.0");
    assert_eq!(request.line("clitape"), "clitape replay cassettes/x/1.0 --mode partial");
    let other = ReplayRequest {
        run: RunSpec { silent: true, limit_s: 60, resume: true, ..RunSpec::default() },
        pace: Some(200),
        json: true,
        ..request.lanes([Lane::Bus])
    };
    assert_eq!(
        other.line("gateway"),
        "gateway replay cassettes/x/1.0 --mode partial --silent --limit 60 --resume --pace 200 \
         --lane bus --json"
    );
}
