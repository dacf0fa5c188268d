//! Builds the stages of a command from its tokens: pipes of programs, without what only wraps them.

use super::scan::{ShellToken, scan};
use super::table::TABLE;

/// Shells within shells that are looked into.
const DEPTH_LIMIT: usize = 4;

/// Words at the start of a stage that make it more than a simple command.
const KEYWORDS: [&str; 17] = [
    "for", "while", "until", "if", "case", "select", "function", "do", "done", "then", "else",
    "elif", "fi", "esac", "coproc", "[[", "eval",
];
/// Words at the start of a stage that change nothing of what it does.
const BRACKETS: [&str; 3] = ["{", "}", "!"];

/// A stage of a command: the commands between `;`, `&&`, `||`, `&` and newlines.
#[derive(Debug, Default)]
pub(super) struct PipelineStage {
    /// The commands of its pipe, none of them without words.
    pub(super) pipe: Vec<SimpleCommand>,
}

/// A program, its arguments, and where its input and output are.
#[derive(Debug, Default)]
pub(super) struct SimpleCommand {
    /// The program's name, and its arguments.
    pub(super) words: Vec<String>,
    pub(super) input: Option<String>,
    pub(super) output: Option<String>,
    /// The input is part of the command itself, as a here-document.
    pub(super) has_document: bool,
}

/// The stages of `command`, what `bash -c` runs among them as if it stood there. `None` when it is
/// more than simple commands, and cannot be described as steps.
pub(super) fn stages(command: &str) -> Option<Vec<PipelineStage>> {
    let mut stages = Vec::new();
    read(command, DEPTH_LIMIT, &mut stages)?;
    Some(stages)
}

fn read(command: &str, depth: usize, stages: &mut Vec<PipelineStage>) -> Option<()> {
    let mut stage = PipelineStage::default();
    let mut current = SimpleCommand::default();
    for token in scan(command)?.into_iter().chain([ShellToken::End]) {
        match token {
            ShellToken::Word(word) if current.words.is_empty() => match word.as_str() {
                bracket if BRACKETS.contains(&bracket) => {}
                keyword if KEYWORDS.contains(&keyword) => return None,
                _ => current.words.push(word),
            },
            ShellToken::Word(word) => current.words.push(word),
            ShellToken::Output(file) if file.starts_with("/dev/") => {}
            ShellToken::Output(file) => current.output = Some(file),
            ShellToken::Input(file) => {
                current.input = Some(file).filter(|f| !f.starts_with("/dev/"));
            }
            ShellToken::HereDocument => current.has_document = true,
            ShellToken::Pipe => stage.add(std::mem::take(&mut current)),
            ShellToken::End => {
                stage.add(std::mem::take(&mut current));
                add(std::mem::take(&mut stage), depth, stages)?;
            }
        }
    }
    Some(())
}

impl PipelineStage {
    fn add(&mut self, mut command: SimpleCommand) {
        unwrap(&mut command.words);
        if !command.words.is_empty() {
            self.pipe.push(command);
        }
    }
}

fn add(mut stage: PipelineStage, depth: usize, stages: &mut Vec<PipelineStage>) -> Option<()> {
    if let [only] = stage.pipe.as_mut_slice()
        && let Some(script) = script(&only.words)
        && let Some(depth) = depth.checked_sub(1)
    {
        read(script, depth, stages)?;
        if let Some(last) = stages.last_mut().and_then(|stage| stage.pipe.last_mut()) {
            last.output = last.output.take().or(only.output.take());
        }
    } else if !stage.pipe.is_empty() {
        stages.push(stage);
    }
    Some(())
}

/// The script in `bash -lc '…'`.
fn script(words: &[String]) -> Option<&str> {
    let (shell, mut args) = words.split_first()?;
    TABLE.shells.iter().any(|name| name == base(shell)).then_some(())?;
    loop {
        let (option, rest) = args.split_first()?;
        let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        // `-o` takes a value.
        let skip = usize::from(letters.ends_with('o'));
        if letters.contains('c') {
            return rest.get(skip).map(String::as_str);
        }
        args = rest.get(skip..)?;
    }
}

/// Takes `A=1` and programs such as `sudo` from the front of a command, unless nothing would be left
/// of it.
fn unwrap(words: &mut Vec<String>) {
    let mut start = 0;
    while let Some(word) = words.get(start) {
        let next = match TABLE.wrappers.get(base(word)) {
            _ if is_assignment(word) => start + 1,
            Some(wrapper) => {
                let mut next = start + 1;
                let is_own = |w: &&String| w.starts_with('-') || is_assignment(w);
                while let Some(option) = words.get(next).filter(is_own) {
                    next += if wrapper.values.contains(option) { 2 } else { 1 };
                }
                next += wrapper.own;
                if next >= words.len() {
                    break;
                }
                next
            }
            None => break,
        };
        start = next;
    }
    words.drain(..start);
}

fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.trim_end_matches('+').chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// The program's name without its folder.
pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
