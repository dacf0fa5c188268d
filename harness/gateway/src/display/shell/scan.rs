//! Reads the text of a shell command into tokens, as far as a one-line summary needs it.

use std::iter::Peekable;
use std::str::Chars;

/// A token of a command's text.
#[derive(Debug, PartialEq)]
pub(super) enum ShellToken {
    /// A word, its quotes and escapes resolved.
    Word(String),
    /// The file that the output goes to.
    Output(String),
    /// The file that the input comes from.
    Input(String),
    /// The input is part of the command itself.
    HereDocument,
    /// `|`
    Pipe,
    /// `;`, `&`, `&&`, `||` or a newline.
    End,
}

/// The use of the next word.
#[derive(Clone, Copy)]
enum RedirectTarget {
    Output,
    Input,
    /// A file of no interest: one for stderr, or one that is both read and written.
    Aside,
    /// `<<`, or `<<-`, whose lines may be indented.
    HereDocument {
        is_indented: bool,
    },
    /// `<<<`
    HereString,
}

/// The tokens of `command`, subshells without their parentheses. `None` if its text does not
/// determine which programs run: substitutions, functions, arrays, and quotes or parentheses that
/// never close.
pub(super) fn scan(command: &str) -> Option<Vec<ShellToken>> {
    let mut scanner = ShellScanner {
        chars: command.chars().peekable(),
        tokens: Vec::new(),
        word: None,
        target: None,
        documents: Vec::new(),
        depth: 0,
    };
    while let Some(c) = scanner.chars.next() {
        scanner.read(c)?;
    }
    scanner.flush();
    (scanner.target.is_none() && scanner.depth == 0).then_some(scanner.tokens)
}

struct ShellScanner<'a> {
    chars: Peekable<Chars<'a>>,
    tokens: Vec<ShellToken>,
    /// The word so far; `""` makes an empty one.
    word: Option<String>,
    target: Option<RedirectTarget>,
    /// The last lines of the here-documents that begin on the next line.
    documents: Vec<(String, bool)>,
    /// Subshells that are open.
    depth: usize,
}

impl ShellScanner<'_> {
    fn read(&mut self, c: char) -> Option<()> {
        match c {
            '\'' | '"' => self.quoted(c)?,
            '\\' => match self.chars.next()? {
                '\n' => {}
                escaped => self.push(escaped),
            },
            '`' => return None,
            '$' => self.dollar()?,
            '#' if self.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
            ' ' | '\t' | '\r' => self.flush(),
            '(' => {
                self.flush();
                let starts = !matches!(self.tokens.last(), Some(t) if !is_operator(t));
                self.depth += 1;
                return (starts && self.target.is_none()).then_some(());
            }
            ')' => {
                self.flush();
                self.depth = self.depth.checked_sub(1)?;
            }
            ';' => self.end(ShellToken::End)?,
            '\n' => {
                self.end(ShellToken::End)?;
                self.skip_documents();
            }
            '&' if self.chars.next_if_eq(&'>').is_some() => {
                self.flush();
                self.redirect('>', None)?;
            }
            '&' => {
                self.chars.next_if_eq(&'&');
                self.end(ShellToken::End)?;
            }
            '|' => {
                let is_or = self.chars.next_if_eq(&'|').is_some();
                self.chars.next_if_eq(&'&');
                self.end(if is_or { ShellToken::End } else { ShellToken::Pipe })?;
            }
            '>' | '<' => {
                let is_number = |word: &mut String| word.chars().all(|c| c.is_ascii_digit());
                let number = self.word.take_if(is_number);
                self.flush();
                self.redirect(c, number.as_deref())?;
            }
            c => self.push(c),
        }
        Some(())
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    /// Ends the word, for which the redirection before it waits.
    fn flush(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        let token = match self.target.take() {
            None => ShellToken::Word(word),
            Some(RedirectTarget::Output) => ShellToken::Output(word),
            Some(RedirectTarget::Input) => ShellToken::Input(word),
            Some(RedirectTarget::Aside) => return,
            Some(RedirectTarget::HereString) => ShellToken::HereDocument,
            Some(RedirectTarget::HereDocument { is_indented }) => {
                self.documents.push((word, is_indented));
                ShellToken::HereDocument
            }
        };
        self.tokens.push(token);
    }

    fn end(&mut self, token: ShellToken) -> Option<()> {
        self.flush();
        self.tokens.push(token);
        self.target.is_none().then_some(())
    }

    /// Reads what follows `sign`, up to the file.
    fn redirect(&mut self, sign: char, number: Option<&str>) -> Option<()> {
        let mut has = |c: char| self.chars.next_if_eq(&c).is_some();
        let target = match sign {
            '<' if has('<') => match (has('<'), has('-')) {
                (true, _) => RedirectTarget::HereString,
                (false, is_indented) => RedirectTarget::HereDocument { is_indented },
            },
            '<' if has('>') => RedirectTarget::Aside,
            '<' => RedirectTarget::Input,
            _ => {
                // `>>` and `>|` write to the file as `>` does.
                let _ = has('>') || has('|');
                match number {
                    None | Some("1") => RedirectTarget::Output,
                    Some(_) => RedirectTarget::Aside,
                }
            }
        };
        if matches!(target, RedirectTarget::Input | RedirectTarget::Output | RedirectTarget::Aside)
            && has('&')
        {
            let is_digit = |c: &char| c.is_ascii_digit() || *c == '-';
            let mut digits = 0;
            while self.chars.next_if(is_digit).is_some() {
                digits += 1;
            }
            if digits > 0 {
                return Some(());
            }
        }
        self.target = Some(target);
        // `<(…)` runs a command.
        (self.chars.peek() != Some(&'(')).then_some(())
    }

    /// Reads what follows a `$`.
    fn dollar(&mut self) -> Option<()> {
        match self.chars.peek() {
            Some('(') => self.here_text()?,
            Some('\'') => {
                self.chars.next();
                let word = self.word.get_or_insert_default();
                loop {
                    match self.chars.next()? {
                        '\'' => break,
                        '\\' => word.extend(['\\', self.chars.next()?]),
                        c => word.push(c),
                    }
                }
            }
            Some('{') => {
                self.push('$');
                loop {
                    let c = self.chars.next()?;
                    if c == '`' || (c == '$' && self.chars.peek() == Some(&'(')) {
                        return None;
                    }
                    self.push(c);
                    if c == '}' {
                        break;
                    }
                }
            }
            _ => self.push('$'),
        }
        Some(())
    }

    /// Reads up to the closing `quote`.
    fn quoted(&mut self, quote: char) -> Option<()> {
        self.word.get_or_insert_default();
        loop {
            match self.chars.next()? {
                c if c == quote => return Some(()),
                '\\' if quote == '"' => match self.chars.next()? {
                    '\n' => {}
                    c @ ('"' | '\\' | '$' | '`') => self.push(c),
                    c => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                '`' if quote == '"' => return None,
                '$' if quote == '"' && self.chars.peek() == Some(&'(') => {
                    self.here_text()?;
                }
                c => self.push(c),
            }
        }
    }

    /// Reads `(cat <<'E' … E )` after a `$`, which only says a long text; any other substitution
    /// runs something.
    fn here_text(&mut self) -> Option<()> {
        let mut expect =
            |text: &str| text.chars().try_for_each(|c| self.chars.next_if_eq(&c).map(drop));
        expect("(cat <<")?;
        let is_indented = expect("-").is_some();
        let quote = self.chars.next_if(|c| matches!(c, '\'' | '"'))?;
        let mut last = String::new();
        while let Some(c) = self.chars.next_if(|c| *c != quote) {
            last.push(c);
        }
        let is_first = self.documents.is_empty();
        (self.chars.next()? == quote && self.chars.next()? == '\n' && is_first).then_some(())?;
        self.documents.push((last, is_indented));
        self.skip_documents();
        while self.chars.next_if(|c| c.is_whitespace()).is_some() {}
        self.push('…');
        self.chars.next_if_eq(&')').map(drop)
    }

    /// Skips the here-documents that begin here; one that never ends takes all the rest.
    fn skip_documents(&mut self) {
        for (last, is_indented) in self.documents.drain(..) {
            let mut line = String::new();
            loop {
                let c = self.chars.next();
                if let Some(c) = c.filter(|c| *c != '\n') {
                    line.push(c);
                    continue;
                }
                let text = if is_indented { line.trim_start_matches('\t') } else { &line };
                if c.is_none() || text.trim_end_matches('\r') == last {
                    break;
                }
                line.clear();
            }
        }
    }
}

fn is_operator(token: &ShellToken) -> bool {
    matches!(token, ShellToken::Pipe | ShellToken::End)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, expect: &str) {
        let words = scan(command).map(|tokens| {
            let words: Vec<String> = tokens
                .into_iter()
                .map(|token| match token {
                    ShellToken::Word(word) => word,
                    ShellToken::Output(file) => format!(">{file}"),
                    ShellToken::Input(file) => format!("<{file}"),
                    ShellToken::HereDocument => "<<".to_owned(),
                    ShellToken::Pipe => "|".to_owned(),
                    ShellToken::End => ";".to_owned(),
                })
                .collect();
            words.join("·")
        });
        assert_eq!(words.as_deref().unwrap_or("none"), expect, "{command}");
    }

    #[test]
    fn v2_a_command_is_read_as_a_shell_reads_it() {
        check("a 'b c' \"d\\\"e\" f\\ g '' h#i # j", "a·b c·d\"e·f g··h#i");
        check("a \\\n b; c && d || e & f\ng", "a·b·;·c·;·d·;·e·;·f·;·g");
        check("a | b |& c", "a·|·b·|·c");
        check("a > b 2> c 2>&1 &> d >> e < f >&2 1>g 2>|h <&-", "a·>b·>d·>e·<f·>g");
        check("a $'b\\'c' ${d:-e f} $g", "a·b\\'c·${d:-e f}·$g");
        check("(a; b) | c", "a·;·b·|·c");
        check("a <<E <<-\"F G\" > h\nx ' `\nE\ny\n\tF G\nb", "a·<<·<<·>h·;·b");
        check("a <<E\nx", "a·<<·;");
        check("a <<< 'b c' d", "a·<<·d");
        check("a -m \"$(cat <<'E'\nb `c`\nE\n)\" && d", "a·-m·…·;·d");
    }

    #[test]
    fn v2_what_can_t_be_read_is_not_guessed() {
        for command in
            ["'a", "\"a", "a \\", "$(a)", "\"$(a)\"", "a `b`", "f() { a; }", "(a", "a)", "a=(b)"]
        {
            check(command, "none");
        }
        for command in ["a $(cat <<E\n`b`\nE\n)", "$(cat <<'E'\nE\nb)", "$(cat <<'E'", "$(cat a)"] {
            check(command, "none");
        }
        for command in ["a <(b)", "a >", "a > | b", "a <<", "$'a", "${a", "\"`a`\"", "${a$(b)}"] {
            check(command, "none");
        }
    }
}
