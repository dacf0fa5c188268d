//! Tests of `clitape.toml`: the settings that it gives, and the line of each mistake.

use super::*;

const MINE: &str = "[subject.mine]\nkind = 'gateway'\ncommand = ['python3', 'bot.py']\n";

fn parse(text: &str) -> Result<Subjects, SubjectError> {
    Subjects::parse(PathBuf::from("clitape.toml"), text)
}

pub(in crate::subject) fn gateway(more: &str) -> GatewaySpec {
    let mut subjects = parse(&format!("{MINE}{more}")).unwrap().subjects;
    match subjects.pop_first().unwrap().1 {
        SubjectSpec::Gateway(spec) => *spec,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_gateway_has_defaults_for_all_but_its_command() {
    let spec = gateway("");
    assert_eq!(spec.host, HostKind::OneShot);
    assert_eq!(spec.ready, Ready { sign: ReadySign::Poll, within_s: 60 });
    assert_eq!(
        (spec.say.as_str(), spec.idle_s, spec.within_s, spec.at_once),
        ("{prompt}", 5, 120, AtOnce::rising(4))
    );
    assert!(spec.traits.shows_tools && spec.traits.shows_progress && !spec.writes_during_turn);
    for label in ["✅ Allow once", "allow always", "Yes"] {
        assert!(spec.press.allow.is_match(label) && !spec.press.deny.is_match(label), "{label}");
    }
    let spec = gateway("ready = { output = 'up', within_s = 5 }\npress = { allow = 'Ja.*' }\n");
    assert_eq!(spec.ready, Ready { sign: ReadySign::Output("up".to_owned()), within_s: 5 });
    assert!(spec.press.allow.is_match("Ja, bitte") && spec.press.deny.is_match("Deny"));
}

#[test]
fn a_gateway_says_who_writes_and_where() {
    let writers = gateway("").writers;
    assert_eq!((writers.chats, writers.chat, writers.starts), Default::default());
    assert!(writers.first.is_empty());
    let writers = gateway(
        "chats = 'one'\nchat = 'topic'\nstarts = 'each'\nfirst = ['/new a', { press = '^Y' }]\n",
    )
    .writers;
    let kinds = (writers.chats, writers.chat, writers.starts);
    assert_eq!(kinds, (Chats::One, ChatKind::Topic, Starts::Each));
    let [FirstStep::Say(text), FirstStep::Press(label)] = &writers.first[..] else {
        panic!("{writers:?}")
    };
    assert!(text == "/new a" && label.is_match("Yes") && !label.is_match("My"));
    check(&format!("{MINE}chats = 'two'\n"), 4, "unknown value `two`");
    check(&format!("{MINE}chat = 'grup'\n"), 4, "did you mean `group`?");
    check(&format!("{MINE}first = [7]\n"), 4, "write a text, or `{ press = ");
    check(&format!("{MINE}first = ['']\n"), 4, "a text is empty");
    check(&format!("{MINE}first = [{{ press = '(' }}]\n"), 4, "is no regular expression");
    check(&format!("{MINE}first = ['{{persn}}']\n"), 4, "did you mean `person`?");
    let agent = MINE.replace("gateway", "agent");
    check(&format!("{agent}chats = 'one'\n"), 4, "only gateway has it");
}

/// Expects a mistake at this line, with this part of its sentence.
#[track_caller]
fn check(text: &str, line: usize, part: &str) {
    let error = parse(text).unwrap_err().to_string();
    assert!(error.starts_with(&format!("clitape.toml:{line}: ")), "{error}");
    assert!(error.contains(part), "{error}");
}

#[test]
fn a_mistake_has_a_line_and_a_suggestion() {
    check(&format!("{MINE}redy = {{ poll = true }}\n"), 4, "did you mean `ready`?");
    check("[subjects.mine]\nkind = 'gateway'\n", 1, "did you mean `subject`?");
    check(&MINE.replace("gateway", "gatway"), 2, "did you mean `gateway`?");
    check(&format!("{MINE}host = 'alive'\n"), 4, "did you mean `live`?");
    check(
        "[subject.Mine]\nkind = 'gateway'\ncommand = ['x']\n",
        1,
        "can't be the name of a subject",
    );
    check(&MINE.replace("'python3', 'bot.py'", ""), 3, "`command`: it is empty");
    let env = format!("{MINE}\nenv = {{ URL = '{{bot_apy}}/x' }}\n");
    check(&env, 5, "there is no placeholder `{bot_apy}`; did you mean `bot_api`?");
    check(
        &env.replace("bot_apy", "bot-api"),
        5,
        "no placeholder `{bot-api}`; did you mean `bot_api`?",
    );
    check(&format!("{MINE}idle_s = 0\n"), 4, "`idle_s`: 0 is not from 1 to 600");
    check(&format!("{MINE}kinds = ['text']\n"), 4, "only parser has it");
    check(&format!("{MINE}say = 'hello'\n"), 4, "has no `{prompt}`");
    check(&format!("{MINE}press = {{ allow = '(' }}\n"), 4, "is no regular expression");
    check(&format!("{MINE}files = {{ '../x' = 'y' }}\n"), 4, "is no path in the temporary folder");
    check(&format!("{MINE}ready = {{ poll = true, output = 'x' }}\n"), 4, "write one");
    let kinds = "[subject.p]\nkind = 'parser'\ncommand = ['x']\nkinds = ['text', 'tool_strt']\n";
    check(
        kinds,
        4,
        "there is no kind `tool_strt` on the lane `lifecycle`; did you mean `tool_start`?",
    );
    let parser = "[subject.p]\nkind = 'parser'\ncommand = ['x']\nidle_s = 3\n";
    check(parser, 4, "a subject of kind parser has none; only gateway has it");
}

#[test]
fn a_subject_has_the_keys_of_another_and_those_of_a_version() {
    let text = format!(
        "{MINE}idle_s = 9\nvalues = {{ mode = 'progress' }}\nenv = {{ MODE = '{{mode}}', BUS = '{{bus}}' }}\n\
         [subject.mine.at.'2.0']\nvalues = {{ mode = 'partial' }}\nclaude_first = ['{{node_folder}}', '/bin']\n\
         [subject.other]\nlike = 'mine'\nversion = '2.0'\nidle_s = 3\n"
    );
    let subjects = parse(&text).unwrap();
    let spec = |name: &str, version: Option<&str>| match subjects.get(name).unwrap().1 {
        SubjectSpec::Gateway(spec) => spec.at_version(version).clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(spec("mine", None).values["mode"], "progress");
    assert_eq!(spec("mine", Some("2.0")).values["mode"], "partial");
    assert_eq!(spec("mine", Some("2.0")).claude_first.len(), 2);
    assert!(spec("mine", None).claude_first.is_empty() && spec("mine", None).has_bus());
    let other = spec("other", None);
    assert_eq!(
        (other.idle_s, other.values["mode"].as_str(), &other.command[0][..]),
        (3, "partial", "python3")
    );
    check(&format!("{MINE}[subject.a]\nlike = 'mien'\n"), 5, "there is no subject `mien`");
    check("[subject.a]\nlike = 'a'\n", 2, "`a` is like itself: a → a");
    check("[subject.a]\ncommand = ['x']\n", 1, "`kind`: it is missing");
    check(&format!("{MINE}values = {{ Mode = 'x' }}\n"), 4, "`Mode` is no name for a placeholder");
    check(
        &format!("{MINE}values = {{ token = 'x' }}\n"),
        4,
        "`token` is no name for a placeholder",
    );
    check(&format!("{MINE}[subject.mine.at.'2.0']\nidle = 3\n"), 5, "unknown field `idle`");
}

#[test]
fn a_subject_that_is_not_there_is_suggested() {
    let subjects = parse(MINE).unwrap();
    assert!(subjects.get("mine").is_ok());
    for (name, hint) in [("mien", "did you mean `mine`?"), ("other-one", "there are mine")] {
        let error = subjects.get(name).unwrap_err().to_string();
        assert!(error.ends_with(hint), "{error}");
    }
}

#[test]
fn an_agent_is_a_gateway_with_an_editor() {
    let agent = MINE.replace("gateway", "agent");
    let mut subjects = parse(&format!("{agent}at_once = 2\n")).unwrap().subjects;
    let Some((_, SubjectSpec::Gateway(spec))) = subjects.pop_first() else {
        panic!("{subjects:?}")
    };
    assert_eq!((spec.front, spec.host, spec.idle_s), (Front::Editor, HostKind::Live, 2));
    assert_eq!((spec.ready.sign, spec.at_once), (ReadySign::Greeting, AtOnce::fixed(2)));
    assert!(spec.traits.asks_questions);
    let only_gateway = "a subject of kind agent has none; only gateway has it";
    check(&format!("{agent}stop = '/stop'\n"), 4, only_gateway);
    check(&format!("{agent}host = 'live'\n"), 4, only_gateway);
    check(&format!("{agent}kinds = ['text']\n"), 4, "only parser has it");
}

#[test]
fn versions_stand_beside_the_subjects() {
    let versions = "[versions]\nnewest = '2.1.332'\nbaseline = ['2.1.329', '2.1.332']\n";
    assert_eq!(parse(&format!("{versions}{MINE}")).unwrap().subjects.len(), 1);
    let wrong = versions.replace("newest = '2.1.332'", "newest = '2.1.333'");
    check(&wrong, 1, "`newest` is 2.1.333, and the last version of `baseline` is 2.1.332");
    check(&format!("{versions}oldest = '1'\n"), 4, "unknown field `oldest`");
}

fn subjects() -> Table {
    let text = "[a]\nkind = 'gateway'\nidle_s = 5\nvalues = { mode = 'progress', reply = 'off' }\n\
                    [a.at.2]\nvalues = { mode = 'partial' }\nidle_s = 9\n\
                    [b]\nlike = 'a'\nvalues = { reply = 'first' }\n\
                    [c]\nlike = 'b'\nvalues = { mode = 'off' }\n[x]\nlike = 'y'\n[y]\nlike = 'x'\n[z]\nlike = 'none'\n";
    text.parse().unwrap()
}

#[test]
fn the_nearest_value_counts_and_rows_are_kept() {
    let subjects = subjects();
    let check = |name: &str, version: Option<&str>, values: [&str; 2], idle_s: i64| {
        let keys = subject_keys(&subjects, name, version).unwrap();
        let value = |key: &str| keys["values"][key].as_str().unwrap().to_owned();
        assert_eq!([value("mode"), value("reply")], values, "{name} {version:?}");
        assert_eq!(keys["idle_s"].as_integer(), Some(idle_s), "{name} {version:?}");
        assert!(!keys.contains_key("like") && !keys.contains_key("at"));
    };
    check("a", None, ["progress", "off"], 5);
    check("a", Some("2"), ["partial", "off"], 9);
    check("b", Some("1"), ["progress", "first"], 5);
    check("b", Some("2"), ["partial", "first"], 9);
    // A subject's own key counts more than the key of another for a version.
    check("c", Some("2"), ["off", "first"], 9);
    assert_eq!(subject_versions(&subjects, "c").unwrap().into_iter().collect::<Vec<_>>(), ["2"]);
}

#[test]
fn a_subject_is_like_one_that_there_is_and_not_like_itself() {
    let subjects = subjects();
    assert_eq!(subject_keys(&subjects, "z", None).unwrap_err(), "there is no subject `none`");
    assert_eq!(subject_keys(&subjects, "x", None).unwrap_err(), "`x` is like itself: x → y → x");
}

#[test]
fn the_nearest_name_is_suggested() {
    let known = ["command", "env", "ready", "warm_up"];
    for (name, expect) in [
        ("comand", Some("did you mean `command`?")),
        ("warmup", Some("did you mean `warm_up`?")),
        ("enviroment", None),
        ("x", None),
    ] {
        assert_eq!(suggestion(name, known).as_deref(), expect, "{name}");
    }
}
