use clitape_recording::cassette::parse_timeline;

use crate::replay::plan::*;

fn check(plan: &Plan, expect: &str) {
    let steps: Vec<String> =
        plan.steps.iter().map(|step| format!("{}:{}", step.after_ms, step.bytes)).collect();
    assert_eq!(steps.join(" "), expect);
}

const TIMELINE: &str = "[900,\"o\",4]\n[10,\"e\",1]\n[20,\"o\",3]\n[5,\"o\",2]\n[1,\"x\",0]\n";

#[test]
fn recorded_reads_start_at_zero_and_keep_their_times() {
    check(&Plan::recorded(&parse_timeline(TIMELINE).unwrap()), "0:4 30:3 5:2");
}

#[test]
fn a_piece_comes_with_its_last_byte() {
    let timeline = parse_timeline(TIMELINE).unwrap();
    let plan = |cut| Plan::cut(b"ab\ncd\nef\n".as_slice(), &timeline, cut, 0);
    check(&plan(Cut::Line), "0:3 30:3 5:3");
    check(&plan(Cut::Byte), "0:1 0:1 0:1 0:1 30:1 0:1 0:1 5:1 0:1");
    check(&plan(Cut::Size(4)), "0:4 35:4 0:1");
}

#[test]
fn paced_lines_are_whole_and_a_last_one_needs_no_end() {
    check(&Plan::paced(b"ab\n\ncd", 200), "0:3 200:1 200:2");
    check(&Plan::paced(b"", 200), "");
}

#[test]
fn uncut_keeps_when_every_line_is_complete() {
    let plan = Plan::parse(r#"{"format":1,"steps":[[5,1],[7,4],[2,1],[9,3]]}"#, 9).unwrap();
    check(&plan.uncut(b"ab\ncd\nef\n"), "12:3 2:3 9:3");
    check(&plan.uncut(b"ab\ncd\n\nx\n"), "12:3 2:3 9:1 0:2");
}

#[test]
fn a_seed_is_the_same_plan_everywhere() {
    let stdout = b"fourteen bytes\n".repeat(4);
    let plan = Plan::random(&stdout, 10);
    assert_eq!(plan, Plan::random(&stdout, 10));
    assert_eq!(plan.steps.iter().map(|step| step.bytes).sum::<u64>(), 60);
    check(&plan, "0:1 0:1 0:1 0:41 6:16");
}

/// Seeds that follow each other have the same times of lines, those of the next group have others, and cuts differ.
#[test]
fn seeds_share_times() {
    let stdout = b"one line\n".repeat(200);
    let group =
        |first| (first..first + random::SEEDS_PER_TIMES).map(|seed| Plan::random(&stdout, seed));
    let times = |plan: &Plan| plan.uncut(stdout.as_slice()).steps;
    let mut seen = Vec::new();
    for first in [0, 4, 400] {
        let plans: Vec<Plan> = group(first).collect();
        assert!(plans.iter().any(|plan| plan.steps != plans[0].steps), "{first}");
        assert!(plans.iter().all(|plan| times(plan) == times(&plans[0])), "{first}");
        assert!(!seen.contains(&times(&plans[0])), "{first}");
        seen.push(times(&plans[0]));
    }
}

#[test]
fn a_printed_plan_reads_back_and_a_foreign_one_is_refused() {
    let plan = Plan::random(&[b'x'; 5_000], 3);
    assert_eq!(Plan::parse(&plan.to_line(), 5_000).unwrap(), plan);
    let error = Plan::parse(&plan.to_line(), 4_000).unwrap_err().to_string();
    assert_eq!(
        error,
        "the plan is for 5000 bytes, the input has 4000; it was made for another cassette"
    );
    let later = Plan::parse(r#"{"format":2,"steps":[]}"#, 0).unwrap_err().to_string();
    assert_eq!(later, "the plan has format 2, this version reads up to 1; update clitape");
}

#[test]
fn a_plan_waits_a_day_at_most_and_has_a_number_of_faults() {
    for (plan, expect) in [
        (r#""steps":[[86400000,5]]"#.to_owned(), None),
        (
            r#""steps":[[18446744073709551615,5]]"#.to_owned(),
            Some("the plan has a pause of 18446744073709551615 ms; 86400000 are the most"),
        ),
        (r#""steps":[[0,5]],"host":[{"line":1,"at":0,"after_ms":86400000}]"#.to_owned(), None),
        (
            r#""steps":[[0,5]],"host":[{"line":1,"at":0,"after_ms":86400001}]"#.to_owned(),
            Some("the plan has a pause of 86400001 ms; 86400000 are the most"),
        ),
        (
            format!(r#""steps":[[0,5]],"faults":[{}]"#, vec![r#""1:hang""#; 1_001].join(",")),
            Some("the plan has 1001 faults; 1000 are the most"),
        ),
        (
            format!(r#""steps":[[0,5]],"agent":[{}]"#, vec![r#""1:bom""#; 1_001].join(",")),
            Some("the plan has 1001 faults of the agent's side; 1000 are the most"),
        ),
    ] {
        let plan = Plan::parse(&format!(r#"{{"format":1,{plan}}}"#), 5);
        assert_eq!(plan.err().map(|error| error.to_string()).as_deref(), expect);
    }
}

#[test]
fn cuts_are_words_or_sizes() {
    for (word, cut) in
        [("line", Cut::Line), ("byte", Cut::Byte), ("17", Cut::Size(17)), ("none", Cut::None)]
    {
        assert_eq!(word.parse::<Cut>().unwrap(), cut);
    }
    for word in ["0", "-3", "lines", ""] {
        assert!(word.parse::<Cut>().is_err(), "{word}");
    }
}

#[test]
fn v6_faults_are_part_of_the_plan() {
    let text = r#"{"format":1,"steps":[[0,5],[9,4]],"faults":["2:rate-limit:3s","3:hang"]}"#;
    let plan = Plan::parse(text, 9).unwrap();
    assert_eq!(plan.to_line(), text);
    assert_eq!(plan.uncut(b"ab\ncd\nef\n").faults, plan.faults);
    assert_eq!(plan.glued(0, 2).faults, plan.faults);
}

#[test]
fn v6_a_seed_draws_the_same_faults_everywhere() {
    let drawn = |seed, kinds: &[FaultKind]| {
        let faults = Plan::random_faults(seed, kinds).into_iter().map(|fault| fault.to_string());
        faults.collect::<Vec<_>>().join(" ")
    };
    let kinds = [FaultKind::RateLimit, FaultKind::Slow, FaultKind::LostReply];
    assert_eq!(drawn(3, &kinds), "1:slow:3980ms 5:lost-reply");
    assert_ne!(drawn(4, &kinds), drawn(5, &kinds));
    assert_eq!(drawn(3, &[]), "");
}

/// Seeds differ in what they draw at all, and none keeps a gateway waiting so long that it gives the agent or the final
/// message up.
#[test]
fn each_seed_draws_its_own_weights_within_bounds() {
    let stdout = [b"x".repeat(4_000), b"\n".to_vec()].concat().repeat(8);
    let (mut whole, mut in_pieces, mut unhurried) = (0, 0, 0);
    for seed in 0..400 {
        let steps = Plan::random(&stdout, seed).steps;
        let (mut at, mut waited) = (0, 0);
        for step in &steps {
            waited += step.after_ms;
            assert!(waited <= 3_000, "seed {seed}: a line takes {waited} ms");
            at += step.bytes;
            let is_line_end = (at - step.bytes) / 4_001 < at / 4_001;
            waited = if is_line_end { 0 } else { waited };
        }
        assert!(steps.len() <= 700, "seed {seed} has {} pieces", steps.len());
        whole += usize::from(steps.len() <= 2);
        in_pieces += usize::from(steps.iter().take(100).all(|step| step.bytes <= 16));
        unhurried += usize::from(steps.iter().all(|step| step.after_ms < 20));
    }
    assert!(whole > 20 && in_pieces > 10 && unhurried > 10, "{whole} {in_pieces} {unhurried}");
}

#[test]
fn waits_are_mostly_short_and_sometimes_minutes() {
    let (mut waits, mut without) = (Vec::new(), 0);
    for seed in 0..1_000 {
        let faults = Plan::random_faults(seed, &[FaultKind::RateLimit]);
        without += usize::from(faults.is_empty());
        let all: Vec<u64> = faults.iter().map(|fault| fault.amount).collect();
        assert!(all.iter().sum::<u64>() <= 240 && !all.contains(&0), "seed {seed}: {all:?}");
        waits.extend(all);
    }
    waits.sort_unstable();
    assert_eq!((waits.first(), waits.last()), (Some(&1), Some(&150)));
    let most = waits[waits.len() / 2];
    assert!(most <= 3, "half of the waits are at most {most} s");
    let long = waits.iter().filter(|wait| **wait >= 60).count();
    assert!(long * 100 > waits.len() && long * 10 < waits.len(), "{long} of {}", waits.len());
    assert!(without > 60, "{without} seeds have no fault");
}
