//! The reference of all commands and options as Markdown, read from the definitions that clap parses with.

use std::fmt::Write as _;

use clap::{Arg, Command};

/// The text above the commands.
const HEAD: &str = "\
# Commands and options

Every command with its arguments and options, as `clitape COMMAND --help` lists them. [The commands](../commands.md) says
what each is for.
";

/// Returns the page; `command` has all of its subcommands.
pub(crate) fn page(command: Command) -> String {
    let mut command = command.disable_help_subcommand(true).disable_help_flag(true);
    command = command.disable_version_flag(true);
    command.build();
    let mut text = HEAD.to_owned();
    text.push_str("\n## Options of every command\n");
    options(&mut text, command.get_arguments().filter(|arg| arg.is_global_set()));
    add_commands(&mut text, &command, "");
    text
}

/// Adds the subcommands of a command, each below it.
fn add_commands(text: &mut String, command: &Command, above: &str) {
    let above = format!("{above}{} ", command.get_name());
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let _ = write!(text, "\n## `{above}{}`\n", below.get_name());
        if let Some(about) = below.get_about() {
            let _ = write!(text, "\n{}.\n", escaped(&about.to_string()));
        }
        let long = below.get_long_about().map(ToString::to_string).unwrap_or_default();
        // The first paragraph is that of the short help.
        for paragraph in long.split("\n\n").skip(1) {
            let _ = write!(text, "\n{}\n", escaped(paragraph));
        }
        if !below.has_subcommands() {
            let usage = below.clone().render_usage().to_string();
            let usage = usage.trim_start_matches("Usage: ").trim();
            let _ = write!(text, "\n```text\n{usage}\n```\n");
        }
        options(text, below.get_arguments().filter(|arg| !arg.is_global_set()));
        if let Some(after) = below.get_after_help() {
            let _ = write!(text, "\n```text\n{}\n```\n", after.to_string().trim());
        }
        add_commands(text, below, &above);
    }
}

/// Adds a table of the arguments, and one for each group of options.
fn options<'a>(text: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    let arguments: Vec<&Arg> = arguments.filter(|arg| !arg.is_hide_set()).collect();
    let heading = |arg: &Arg| match arg.is_positional() {
        true => "argument".to_owned(),
        false => arg.get_help_heading().unwrap_or("option").to_lowercase(),
    };
    let mut headings: Vec<String> = Vec::new();
    for arg in &arguments {
        let heading = heading(arg);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for title in headings {
        let _ = write!(text, "\n| {title} | meaning |\n|---|---|\n");
        for arg in arguments.iter().filter(|arg| heading(arg) == title) {
            let name = arg.to_string().replace('|', "\\|");
            let short = arg.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
            let _ = writeln!(text, "| {short}`{name}` | {} |", meaning(arg));
        }
    }
}

/// Returns the help text of an argument with its values and its default, as a cell of a table.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut parts = vec![escaped(&help)];
    let values = arg.get_possible_values();
    let values = values.iter().filter(|value| !value.is_hide_set());
    let values: Vec<String> = values
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({})", value.get_name(), escaped(&help.to_string())),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !values.is_empty() {
        parts.push(format!("values: {}", values.join(", ")));
    }
    let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    let defaults: Vec<String> = defaults.map(|value| format!("`{value}`")).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() && !arg.is_hide_default_value_set() {
        parts.push(format!("default: {}", defaults.join(", ")));
    }
    parts.join("; ").replace('|', "\\|")
}

/// Returns a help text on one line in which only backquotes are markup.
fn escaped(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = String::new();
    for (number, part) in line.split('`').enumerate() {
        let is_code = number % 2 == 1;
        if number > 0 {
            out.push('`');
        }
        for c in part.chars() {
            match c {
                '<' if !is_code => out.push_str("&lt;"),
                '*' | '_' | '[' | ']' | '\\' if !is_code => out.extend(['\\', c]),
                c => out.push(c),
            }
        }
    }
    out
}
