//! One line a kind of command.

use super::{PROGRAMS, explain, read_table};

fn check(cases: &[(&str, &str)]) {
    for (command, expect) in cases {
        assert_eq!(explain(command), *expect, "{command}");
    }
}

#[test]
fn v2_steps_and_pipes() {
    check(&[
        ("ls -la /tmp", "list files in /tmp"),
        ("ls -la /tmp | wc -l", "list files in /tmp -> count lines"),
        ("cat a | sort | uniq | head -3", "show a -> show first 3 lines (+2 steps)"),
        ("cat a | sort | tail -3", "show a -> show last 3 lines (+1 step)"),
        (
            "ls; pwd\ndate & git status || ls x",
            "list files → show the current folder → show the date → check git status → list files in x",
        ),
        ("npm test || true", "run tests"),
        ("(cd a && npm test) | tee log", "run tests -> write log (in a)"),
        (
            "a; b; c; d; e; ls; g; h",
            "run a → run b → run c → run d → run e → list files → (+2 steps)",
        ),
        ("{ ls; pwd; }", "list files → show the current folder"),
        ("(ls; pwd) > out", "list files → show the current folder to out"),
        ("! grep -q x f", "search \"x\" in f"),
        ("FOO=1 ls; frob it", "list files → run frob it"),
        ("ls # all of them\n# pwd", "list files"),
    ]);
}

#[test]
fn v2_prefixes_of_a_command_are_removed() {
    check(&[
        ("cd /repo && npm install && npm test", "install dependencies → run tests (in /repo)"),
        ("set -e; export A=1; unset B; cd -- x; git -C x status", "check git status (in x)"),
        ("cd a; cd b; cd c; cd d; cd e; ls", "go to e → list files (in a/b/c/d)"),
        ("cd /home/anna/x && ls", "list files (in ~/x)"),
        ("cd /repo", "go to /repo"),
        ("A=1; B=2 C='x y' ls", "list files"),
        ("_A+=1 b2=2 ls", "list files"),
        ("1A=2 ls; pwd", "run 1A=2 ls → show the current folder"),
        ("A-B=3 ls; pwd", "run A-B=3 ls → show the current folder"),
        ("sudo -u bob nice -n 5 mkdir -p /a/b", "create folder /a/b"),
        ("timeout -s KILL 5m env A=1 git pull", "pull git changes"),
        ("time nohup npm test > log 2>&1 &", "run tests to log"),
        ("find . -name '*.o' | xargs -n 1 rm -f", "find files named \"*.o\" in . -> remove files"),
        ("npx -y eslint .", "run eslint"),
        ("bash -lc 'git diff --stat'", "check git diff"),
        ("cd a && sudo bash -euo pipefail -c \"cd b; make\" > log", "run make to log (in a/b)"),
        ("sh -c 'sh -c \"sh -c ls\"'", "list files"),
        ("sudo -i", "sudo -i"),
    ]);
}

#[test]
fn v2_programs_have_words() {
    check(&[
        ("/bin/ls a b c d e", "list files in a b c (+2 more)"),
        ("cat a.txt", "show a.txt"),
        ("cat < a.txt", "show a.txt"),
        ("wc -l < notes.txt", "count lines in notes.txt"),
        ("head -n 5 a", "show first 5 lines of a"),
        ("head -n5 a", "show first 5 lines of a"),
        ("head --lines=5 a", "show first 5 lines of a"),
        ("head -1 a", "show first line of a"),
        ("cat a b > c", "copy a b to c"),
        ("head a", "show first 10 lines of a"),
        ("tail -20 log", "show last 20 lines of log"),
        ("tail -fn 20 log", "follow log"),
        ("tail -n +5 log", "show the end of log"),
        ("grep -rn foo src/", "search \"foo\" in src/"),
        ("grep -A 3 --include '*.rs' -e 'a b' -r .", "search \"a b\" in ."),
        ("rg -g '*.rs' -tjs 'a b'", "search \"a b\""),
        ("rg --files src", "list files in src"),
        ("find . -name '*.rs' -type f", "find files named \"*.rs\" in ."),
        ("find /a -name x -exec rm {} \\;", "find files named \"x\" in /a and run rm on them"),
        ("find a -type d -delete", "delete files in a"),
        ("sed -n '1,5p' a", "show lines 1-5 of a"),
        ("sed -n -e 7p a", "show lines 7 of a"),
        ("sed -i s/a/b/ a", "edit a"),
        ("sed s/a/b/ a", "change text of a"),
        ("awk -F, '{ print $1 }' a.csv", "process text of a.csv with awk"),
        ("echo hi", "print text"),
        ("echo hi >> out.txt 2>&1", "write text to out.txt"),
        (
            "cat <<'EOF' > a.sh\nrm -rf $(x)\nEOF\nchmod +x a.sh",
            "write text to a.sh → change permissions of a.sh",
        ),
        ("cp -r a b dest", "copy a b to dest"),
        ("mv a b", "move a to b"),
        ("rm -rf x y", "remove x y"),
        ("ln -s a b", "link b to a"),
        ("tar -xzf a.tgz -C /x", "unpack a.tgz"),
        ("tar czf a.tgz b", "pack b into a.tgz"),
        ("unzip a.zip", "unpack a.zip"),
        ("curl -sSL -H 'A: b' https://example.com", "fetch https://example.com"),
        ("curl -X POST -d @f localhost:80", "send a POST request to localhost:80"),
        ("ssh -p 22 me@host ls -la /", "run \"ls -la /\" on me@host"),
        ("kill -9 123", "stop process 123"),
        ("ps aux", "list processes"),
        ("sleep 0.5 && sleep 5m", "wait 0.5 s → wait 5m"),
        ("systemctl restart nginx", "restart service nginx"),
        ("command -v node", "find command node"),
    ]);
}

#[test]
fn v2_programs_with_verbs_have_words() {
    check(&[
        ("git log --oneline -5 2>/dev/null", "view git history"),
        ("git -C /x -c a=b commit -am 'Fix it'", "create git commit"),
        (
            "git add -A && git commit -m \"$(cat <<'EOF'\nFix (it)\nEOF\n)\"",
            "stage git changes → create git commit",
        ),
        ("git checkout -b new", "create git branch new"),
        ("git push --force origin main", "force-push git changes"),
        ("git reset --hard", "discard git changes"),
        ("git stash pop", "restore stashed git changes"),
        ("npm run lint:all -- --fix", "run lint:all"),
        ("pnpm --filter web add -D zod", "add zod"),
        ("yarn build", "run build"),
        ("cargo +nightly test -p x --all", "run tests"),
        ("cargo nextest run", "run tests"),
        ("go test -run X ./...", "run tests"),
        ("make -j4 all", "run make all"),
        ("python3 -c 'print(1)'", "run python3 inline script"),
        ("python3.11 -m pytest -x", "run pytest"),
        ("python - <<E\nprint(1)\nE", "run python inline script"),
        ("python x.py -c y", "run python x.py"),
        ("node -e 1", "run node inline script"),
        ("node -r reg x.js", "run node x.js"),
        ("sh selftest.sh", "run selftest.sh"),
        ("curl -s https://example.com | bash", "fetch https://example.com -> run bash"),
        ("pip3 install -r req.txt", "install dependencies"),
        ("uv run pytest", "run pytest"),
        ("docker run -it --rm ubuntu bash", "run container ubuntu"),
        ("docker compose up -d", "start containers"),
        ("kubectl -n x get pods", "list pods"),
        ("gh pr create --title T --body B", "open pull request"),
        ("jq '.a' x.json", "query data of x.json"),
        ("apt-get install -y jq", "install jq"),
    ]);
}

#[test]
pub(crate) fn v2_other_commands_are_shown_unchanged() {
    check(&[
        ("frob --all", "frob --all"),
        ("export A=1", "export A=1"),
        ("git frob", "git frob"),
        ("for i in 1 2 3; do echo $i; done", "for i in 1 2 3; do echo $i; done"),
        ("ls; if true; then pwd; fi", "ls; if true; then pwd; fi"),
        // A substitution must not hide behind words.
        ("echo $(date)", "echo $(date)"),
        ("echo \"$(date)\"", "echo \"$(date)\""),
        ("echo `date`", "echo `date`"),
        ("diff <(a) <(b)", "diff <(a) <(b)"),
        ("f() { ls; }; f", "f() { ls; }; f"),
        ("eval ls", "eval ls"),
        ("echo 'open", "echo 'open"),
        ("ls |", "list files"),
        (";", ";"),
        ("", ""),
        (" \n ", ""),
    ]);
    let long = format!("frob {}", "x".repeat(200));
    assert_eq!(explain(&long).chars().count(), 120);
}

#[test]
pub(crate) fn b2_no_secret_is_shown() {
    check(&[
        ("deploy --token hunter2", "deploy --token ***"),
        ("deploy --token \\\n hunter2", "deploy --token ***"),
        ("curl -u me:hunter2 https://me:hunter2@example.com", "fetch https://me:***@example.com"),
    ]);
    let parted = "cat ghp_'abcdefghijklmnop'\"qrstuvwxyz0123456789\"";
    assert_eq!(explain(parted), "show ghp_ab…6789");
    let long = format!("cat github_'pat'_{}1234", "a1B2".repeat(20));
    assert_eq!(explain(&long), "show github…1234");
}

#[test]
fn v2_the_table_of_programs_can_be_read() {
    let table = read_table().unwrap();
    assert!(PROGRAMS.len() > 150, "{}", PROGRAMS.len());
    let used: Vec<&String> = table.programs.values().filter_map(|p| p.verbs.as_ref()).collect();
    for (names, program) in &table.programs {
        assert!(program.say.is_some() || program.verbs.is_some(), "{names} says nothing");
    }
    assert!(used.iter().all(|name| table.verbs.contains_key(*name)), "verbs are missing");
    assert!(table.verbs.keys().all(|name| used.contains(&name)), "verbs are not used");
    assert!(table.verbs["git"].len() >= 17);
    let names = table.programs.keys().flat_map(|names| names.split(' '));
    assert_eq!(names.count(), PROGRAMS.len(), "a program has two entries");
}
