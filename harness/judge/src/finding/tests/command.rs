use crate::finding::*;

#[test]
fn only_lines_that_findings_write_are_commands() {
    for (line, expect) in [
        ("clitape test plain-text", true),
        ("clitape test plain-text --update && clitape review", true),
        (
            "clitape --root 'my work' test plain-text --update && clitape --root 'my work' review",
            true,
        ),
        ("clitape test --subject mine@1.2 a b", true),
        ("clitape record a --claude npm:2.1.329 --redact --force", true),
        (
            r#"clitape replay cassettes/a/2.1.9 --mode partial --plan '{"format":1}' --lane sse"#,
            true,
        ),
        ("clitape rig mine a/2.1.9 --pace 9 --chat-faults sendMessage:2:lost-reply", true),
        ("clitape test --subject mine a/2.1.9 b/2.1.9 --whole-lines --chat-seed 7", true),
        ("clitape test --subject mine a/2.1.9 --restart mid-turn", true),
        ("clitape scan cassettes/a/2.1.9/stdout.jsonl", true),
        ("clitape new a", true),
        ("ls -la 'scenarios/a b'", true),
        (r"rm $'scenarios/a/golden/x\x1b.snap'", true),
        ("rm scenarios/a/golden/mine/telegram.snap", true),
        // A second command in the line.
        ("$(touch pwned)", false),
        ("touch pwned", false),
        ("clitape test a; touch pwned", false),
        ("clitape test a;touch pwned", false),
        ("clitape test a && touch pwned", false),
        ("clitape test a || touch", false),
        ("clitape test a | sh", false),
        ("clitape test a & sh", false),
        ("clitape test $(touch)", false),
        ("clitape test `touch`", false),
        ("clitape test ~", false),
        ("clitape test a # comment", false),
        ("clitape test a > pwned", false),
        ("clitape test a\ntouch pwned", false),
        ("./clitape test a", false),
        ("x=1 clitape test a", false),
        ("rm scenarios", false),
        ("rm -rf scenarios/a/golden/x", false),
        ("rm scenarios/../golden/x/y", false),
        ("rm /scenarios/a/golden/x", false),
        ("ls -l $HOME", false),
        ("", false),
        (" clitape test a", false),
        ("clitape", false),
        // A quote in another style than clitape's, or one that does not end.
        ("clitape test 'a'", false),
        ("clitape test \"a b\"", false),
        ("clitape test 'a b", false),
        (r"clitape test $'a\101'", false),
        ("clitape test a'b c'", false),
        // An option that writes a file, or starts another program.
        ("clitape test a --json r.json", false),
        ("clitape test --json=r.json", false),
        ("clitape record a --claude ./claude", false),
        ("clitape record a --claude path", false),
        ("clitape record a --claude", false),
        ("clitape record a --yes", false),
        ("clitape --root -x test a", false),
        ("clitape cache --clean", false),
        ("clitape proof a --out x", false),
    ] {
        assert_eq!(FindingCommand::read(line.to_owned()).is_own(), expect, "{line}");
    }
}
