//! Reads a message's text as Telegram does with `parse_mode: HTML`: strictly, and gives what a
//! person sees.

/// Tags that Telegram knows, without their attributes.
const TAGS: [&str; 15] = [
    "b",
    "strong",
    "i",
    "em",
    "u",
    "ins",
    "s",
    "strike",
    "del",
    "code",
    "pre",
    "a",
    "blockquote",
    "tg-spoiler",
    "span",
];
/// Tags around nothing but text; a `code` may stand in a `pre`.
const LEAVES: [&str; 2] = ["code", "pre"];
/// Code points of a message, counted after the tags are read.
const LIMIT: usize = 4_096;

/// The text a person sees of `html`, or why Telegram refuses it.
pub(crate) fn visible(html: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(['<', '>', '&']) {
        text.push_str(&rest[..at]);
        let (length, found) = match rest.as_bytes()[at] {
            b'<' => tag(&rest[at..], &mut open)?,
            b'&' => entity(&rest[at..])?,
            _ => return Err("a bare >".to_owned()),
        };
        text.extend(found);
        rest = &rest[at + length..];
    }
    text.push_str(rest);
    if let Some(tag) = open.last() {
        return Err(format!("<{tag}> is never closed"));
    }
    match text.chars().count() {
        _ if text.trim().is_empty() => Err("message text is empty".to_owned()),
        length if length > LIMIT => Err(format!("message is too long: {length}")),
        _ => Ok(text),
    }
}

fn entity(rest: &str) -> Result<(usize, Option<char>), String> {
    let known = [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')];
    let found = known.iter().find(|(name, _)| rest.starts_with(name));
    let (name, c) = found.ok_or_else(|| format!("no entity: {rest:.9}"))?;
    Ok((name.len(), Some(*c)))
}

fn tag<'a>(rest: &'a str, open: &mut Vec<&'a str>) -> Result<(usize, Option<char>), String> {
    let end = rest.find('>').ok_or("a tag without an end")?;
    let inner = &rest[1..end];
    if let Some(name) = inner.strip_prefix('/') {
        if open.pop() != Some(name) {
            return Err(format!("</{name}> closes nothing"));
        }
        return Ok((end + 1, None));
    }
    let (name, attributes) = inner.split_once(' ').unwrap_or((inner, ""));
    let parents = open.as_slice();
    let is_code_in_pre = parents.last() == Some(&"pre") && name == "code";
    let is_fit = match name {
        "a" => attributes.starts_with("href=\"http") && attributes.ends_with('"'),
        "span" => attributes == "class=\"tg-spoiler\"",
        "code" if !attributes.is_empty() => {
            is_code_in_pre && attributes.starts_with("class=\"language-")
        }
        "blockquote" => attributes.is_empty() && !parents.contains(&"blockquote"),
        _ => attributes.is_empty(),
    };
    let in_leaf = parents.iter().any(|parent| LEAVES.contains(parent)) && !is_code_in_pre;
    if !TAGS.contains(&name) || !is_fit || in_leaf || parents.contains(&name) {
        return Err(format!("<{inner}> within {parents:?}"));
    }
    open.push(name);
    Ok((end + 1, None))
}

#[test]
fn v8_what_telegram_takes() {
    let cases = [
        ("a &lt;b&gt; <b>c <i>d</i></b>", Ok("a <b> c d")),
        ("<pre><code class=\"language-rust\">x</code></pre>", Ok("x")),
        ("<a href=\"https://x\">y</a><blockquote>z</blockquote>", Ok("yz")),
        ("<b>a", Err("<b> is never closed")),
        ("<b>a<i>b</b></i>", Err("</b> closes nothing")),
        ("<h1>a</h1>", Err("<h1> within []")),
        ("<code><b>a</b></code>", Err("<b> within [\"code\"]")),
        ("a & b", Err("no entity: & b")),
        ("a > b", Err("a bare >")),
        ("<b> </b>", Err("message text is empty")),
    ];
    for (html, expect) in cases {
        let expect = expect.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(visible(html), expect, "{html}");
    }
    assert!(visible(&"🦀".repeat(4_096)).is_ok());
    assert!(visible(&"🦀".repeat(4_097)).is_err());
}
