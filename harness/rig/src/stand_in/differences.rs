//! Compares the arguments of a recorded `claude` with those that a gateway gives.

use std::collections::BTreeMap;

use super::options::{Argument, CliOptions};

/// The options that differ from run to run: sessions, and texts of the gateway itself.
const IGNORED: [&str; 6] =
    ["--session-id", "--resume", "--continue", "--fork-session", "--name", "--debug-file"];
/// The options whose value is a path, a text, or a list that depends on the gateway's machine. Only their presence is
/// compared.
const FREE_VALUES: [&str; 15] = [
    "--add-dir",
    "--agent",
    "--agents",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--file",
    "--json-schema",
    "--managed-settings",
    "--mcp-config",
    "--plugin-dir",
    "--settings",
    "--system-prompt",
    "--system-prompt-file",
    "--worktree",
    "--debug",
];
/// The behaviour of `claude` if a gateway does not pass an option of the recording.
const MISSING: [(&str, &str); 3] = [
    ("--include-partial-messages", "it prints no pieces of a text (`stream_event`)"),
    ("--permission-prompt-tool", "it asks nobody for a permission"),
    ("--replay-user-messages", "it repeats no message"),
];
/// The behaviour of `claude` if a gateway passes an option that the recording does not have.
const ADDED: [(&str, &str); 1] =
    [("--include-partial-messages", "the recording has no pieces of a text (`stream_event`)")];

/// Returns a sentence for each difference between the options of a recording, from its manifest, and those of a start,
/// from the stand-in's log. Prompts, session ids, paths and texts are not compared.
pub(crate) fn argument_differences(recorded: &[String], actual: &[String]) -> Vec<String> {
    let cli = CliOptions::of(None);
    let (recorded, actual) = (options(&cli, recorded), options(&cli, actual));
    let because = |reasons: &[(&str, &str)], name: &str| {
        let reason = reasons.iter().find(|(option, _)| *option == name);
        reason.map(|(_, reason)| format!(": {reason}")).unwrap_or_default()
    };
    let mut sentences = Vec::new();
    for (name, value) in &recorded {
        match actual.get(name) {
            None => sentences.push(format!(
                "the recording has `{}`, and the gateway does not pass it{}",
                written(name, value),
                because(&MISSING, name)
            )),
            Some(other) if other != value => sentences.push(format!(
                "the recording has `{}`, and the gateway passes `{}`",
                written(name, value),
                written(name, other)
            )),
            Some(_) => {}
        }
    }
    for (name, value) in actual.iter().filter(|(name, _)| !recorded.contains_key(*name)) {
        sentences.push(format!(
            "the gateway passes `{}`, and the recording does not have it{}",
            written(name, value),
            because(&ADDED, name)
        ));
    }
    sentences
}

/// Returns the options by their long names, each with its values in order, if its values are compared.
fn options(cli: &CliOptions, args: &[String]) -> BTreeMap<String, Vec<String>> {
    // A manifest begins with the name of the program.
    let args = match args.split_first() {
        Some((program, rest)) if program == "claude" => rest,
        _ => args,
    };
    let mut options: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for argument in cli.read(args) {
        let Argument::Option { option, written, values } = argument else { continue };
        let name = option.map_or(written, |option| option.name().to_owned());
        if IGNORED.contains(&name.as_str()) {
            continue;
        }
        let is_free = FREE_VALUES.contains(&name.as_str());
        let known = options.entry(name).or_default();
        if !is_free {
            // A list of tools is written with commas or as several arguments.
            let values = values.iter().flat_map(|value| value.split(','));
            known.extend(values.map(|value| value.trim().to_owned()));
            known.sort_unstable();
        }
    }
    options
}

/// Returns an option as it is written on a command line.
fn written(name: &str, values: &[String]) -> String {
    match values.is_empty() {
        true => name.to_owned(),
        false => format!("{name} {}", values.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "claude -p --output-format stream-json --verbose --include-partial-messages \
                            --input-format stream-json --permission-prompt-tool stdio --allowedTools Read,Bash";

    #[track_caller]
    fn check(actual: &str, expect: &[&str]) {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(argument_differences(&words(RECORDED), &words(actual)), expect, "{actual}");
    }

    #[test]
    fn options_that_differ_are_named_and_ids_paths_and_prompts_are_not() {
        let same = "--print --verbose --output-format=stream-json --input-format stream-json \
                    --include-partial-messages --permission-prompt-tool stdio --allowed-tools Bash Read";
        check(same, &[]);
        check(&format!("{same} --session-id S --resume R -- Hello there"), &[]);
        check(
            &same.replace("--include-partial-messages --permission-prompt-tool stdio", ""),
            &[
                "the recording has `--include-partial-messages`, and the gateway does not pass it: it prints no \
                 pieces of a text (`stream_event`)",
                "the recording has `--permission-prompt-tool stdio`, and the gateway does not pass it: it asks nobody \
                 for a permission",
            ],
        );
        check(
            &format!("{same} --mcp-config /a/b.json --model opus"),
            &[
                "the gateway passes `--mcp-config`, and the recording does not have it",
                "the gateway passes `--model opus`, and the recording does not have it",
            ],
        );
        check(
            &same.replace("stdio", "mcp__gate__ask"),
            &["the recording has `--permission-prompt-tool stdio`, and the gateway passes \
               `--permission-prompt-tool mcp__gate__ask`"],
        );
    }
}
