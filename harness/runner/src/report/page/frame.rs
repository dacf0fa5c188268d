//! The frame of every page: one file that loads and sends nothing. A content security policy names its
//! style and script by their hashes; nothing else runs.

use super::escape::{csp_hash, html};

/// A page without its frame.
pub(crate) struct PageFrame<'a> {
    /// What the browser's tab says.
    pub(crate) title: &'a str,
    /// The style sheet.
    pub(crate) style: &'a str,
    /// What the page says, as HTML.
    pub(crate) body: &'a str,
    /// What the script works with, as JSON; and the script.
    pub(crate) script: Option<(&'a str, &'a str)>,
}

impl PageFrame<'_> {
    /// The whole page.
    pub(crate) fn page(&self) -> String {
        let Self { title, style, body, script } = self;
        let (policy, script) = match script {
            None => (String::new(), String::new()),
            Some((data, script)) => (
                format!(" script-src '{}';", csp_hash(script)),
                format!(
                    "<script type=\"application/json\" id=\"data\">{data}</script>\n\
                     <script>{script}</script>\n"
                ),
            ),
        };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src '{}';{policy} img-src data:; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{style}</style>\n\
             </head>\n<body>\n{body}\
             <footer>Made by clitape {}. Nothing on this page is loaded or sent.</footer>\n\
             {script}</body>\n</html>\n",
            csp_hash(style),
            html(title),
            env!("CARGO_PKG_VERSION"),
        )
    }
}

/// A word with a border: green when it holds, red when it does not.
pub(crate) fn badge(holds: bool, text: &str) -> String {
    let class = if holds { "held" } else { "broken" };
    format!("<span class=\"badge {class}\">{}</span>", html(text))
}
