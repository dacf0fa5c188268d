//! Splits a shell command into stages, pipes and words, as far as a one-line summary needs it.

/// A stage of a command: what stands between `;`, `&&`, `||` and newlines.
pub(super) struct Stage {
    /// The commands of its pipe, each as its words.
    pub(super) pipe: Vec<Vec<String>>,
    /// The file its output goes to, if it goes to one.
    pub(super) output: Option<String>,
}

/// Words at the start of a stage that make it more than a simple command.
const KEYWORDS: [&str; 16] = [
    "for", "while", "until", "if", "case", "select", "function", "do", "done", "then", "else",
    "fi", "esac", "{", "}", "!",
];

/// What a scan of the text gives, in order.
#[derive(Debug, PartialEq)]
enum Token {
    Word(String),
    /// `>` and its kin; the next word is a file.
    Redirect {
        is_output: bool,
    },
    Pipe,
    End,
}

/// The stages of `command`; `None` when it is more than simple commands: loops, substitutions,
/// groups, here-documents, or a quote that never ends.
pub(super) fn stages(command: &str) -> Option<Vec<Stage>> {
    let mut stages = Vec::new();
    let mut stage = empty();
    let mut tokens = scan(command)?.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(word) => {
                let words = stage.pipe.last_mut()?;
                if words.is_empty() && KEYWORDS.contains(&word.as_str()) {
                    return None;
                }
                words.push(word);
            }
            Token::Redirect { is_output } => {
                let Some(Token::Word(file)) = tokens.next() else {
                    return None;
                };
                if is_output && !file.starts_with("/dev/") {
                    stage.output = Some(file);
                }
            }
            Token::Pipe => stage.pipe.push(Vec::new()),
            Token::End => {
                stages.push(std::mem::replace(&mut stage, empty()));
            }
        }
    }
    stages.push(stage);
    for stage in &mut stages {
        stage.pipe.iter_mut().for_each(drop_prefix);
        stage.pipe.retain(|words| !words.is_empty());
    }
    stages.retain(|stage| !stage.pipe.is_empty());
    Some(stages)
}

fn empty() -> Stage {
    Stage { pipe: vec![Vec::new()], output: None }
}

/// Takes `A=1` and wrappers such as `sudo` from the front of a command.
fn drop_prefix(words: &mut Vec<String>) {
    const WRAPPERS: [&str; 5] = ["sudo", "command", "nohup", "time", "env"];
    let is_prefix = |word: &String| {
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        WRAPPERS.contains(&word.as_str()) || word.split_once('=').is_some_and(|(n, _)| is_name(n))
    };
    let count = words.iter().take_while(|word| is_prefix(word)).count();
    words.drain(..count);
}

fn scan(command: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars().peekable();
    let flush = |word: &mut Option<String>, tokens: &mut Vec<Token>| {
        tokens.extend(word.take().map(Token::Word));
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => quoted(c, &mut chars, word.get_or_insert_default())?,
            '\\' => match chars.next()? {
                '\n' => {}
                escaped => word.get_or_insert_default().push(escaped),
            },
            '`' | '(' | ')' => return None,
            '#' if word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            ' ' | '\t' | '\r' => flush(&mut word, &mut tokens),
            '\n' | ';' => {
                flush(&mut word, &mut tokens);
                tokens.push(Token::End);
            }
            '&' if chars.peek() == Some(&'>') => {}
            '&' => {
                flush(&mut word, &mut tokens);
                chars.next_if_eq(&'&');
                tokens.push(Token::End);
            }
            '|' => {
                flush(&mut word, &mut tokens);
                let is_or = chars.next_if_eq(&'|').is_some();
                chars.next_if_eq(&'&');
                tokens.push(if is_or { Token::End } else { Token::Pipe });
            }
            '>' | '<' => {
                // The number before it is a file descriptor.
                word.take_if(|w| w.chars().all(|c| c.is_ascii_digit()));
                flush(&mut word, &mut tokens);
                chars.next_if_eq(&'>');
                if chars.next_if_eq(&'<').is_some() {
                    return None;
                }
                if chars.next_if_eq(&'&').is_some() {
                    while chars.next_if(|c| c.is_ascii_digit() || *c == '-').is_some() {}
                } else {
                    let is_output = c == '>';
                    tokens.push(Token::Redirect { is_output });
                }
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    flush(&mut word, &mut tokens);
    Some(tokens)
}

/// Reads up to the closing `quote` into `word`.
fn quoted(quote: char, chars: &mut impl Iterator<Item = char>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            c if c == quote => return Some(()),
            '\\' if quote == '"' => match chars.next()? {
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                c => word.extend(['\\', c]),
            },
            '`' if quote == '"' => return None,
            c => word.push(c),
        }
    }
}
