use super::*;
use crate::cassette::parse_timeline;

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
    let plan = Plan::random(60, 9);
    assert_eq!(plan, Plan::random(60, 9));
    assert_eq!(plan.steps.iter().map(|step| step.bytes).sum::<u64>(), 60);
    check(&plan, "0:1 0:4 2079:1 18:3 14:10 20:4 0:8 0:29");
    assert_ne!(Plan::random(9_000, 5).steps, Plan::random(9_000, 6).steps);
}

#[test]
fn a_printed_plan_reads_back_and_a_foreign_one_is_refused() {
    let plan = Plan::random(5_000, 3);
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
fn issue_13_finding_15_a_plan_waits_a_day_at_most_and_has_a_number_of_faults() {
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
    assert_eq!(drawn(3, &kinds), "5:rate-limit:5s 6:slow:3404ms");
    assert_ne!(drawn(4, &kinds), drawn(5, &kinds));
    assert_eq!(drawn(3, &[]), "");
}
