//! Draws the blocks of a rich message as a text with entities, and checks them against the limits of the Bot API
//! (<https://core.telegram.org/bots/api#rich-message-limits>).
//!
//! A person reads the same words in an app, in other type: a heading is bold here, a table has bars, and the content
//! of a block that opens is a quotation.

use serde_json::Value;

use super::text::{EntityOutput, FormattedText};

/// The most characters of the text.
const MAX_TEXT: usize = 32_768;
/// The most blocks, with list items and rows of tables.
const MAX_BLOCKS: usize = 500;
/// The most levels of blocks and formats within each other.
const MAX_DEPTH: usize = 16;
/// The most files.
const MAX_MEDIA: usize = 50;
/// The most columns of a table.
const MAX_COLUMNS: usize = 20;

/// The blocks that are a file, whose field has the same name.
const MEDIA: [&str; 6] = ["photo", "video", "audio", "animation", "document", "voice_note"];

/// The formats of a rich text, and the kind of entity that looks like each; an empty kind looks like plain text.
const FORMATS: [(&str, &str); 21] = [
    ("bold", "bold"),
    ("italic", "italic"),
    ("underline", "underline"),
    ("strikethrough", "strikethrough"),
    ("spoiler", "spoiler"),
    ("code", "code"),
    ("url", "text_link"),
    ("date_time", ""),
    ("text_mention", ""),
    ("subscript", ""),
    ("superscript", ""),
    ("marked", ""),
    ("email_address", ""),
    ("phone_number", ""),
    ("bank_card_number", ""),
    ("mention", ""),
    ("hashtag", ""),
    ("cashtag", ""),
    ("bot_command", ""),
    ("anchor_link", ""),
    ("reference", ""),
];

/// The use of a rich message: only a draft may have a placeholder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::chat_server) enum RichUse {
    /// A message, which stays.
    #[default]
    Message,
    /// A draft.
    Draft,
}

/// The result of a step of the drawing; the error is in the server's words.
type RichResult = Result<(), String>;

/// Draws blocks, and returns the rows of the buttons within them.
pub(super) fn draw(
    blocks: &Value,
    using: RichUse,
) -> Result<(FormattedText, Vec<Vec<Value>>), String> {
    let mut drawing = Drawing { using, ..Drawing::default() };
    drawing.blocks(blocks, 1, "\n\n")?;
    if drawing.count.text > MAX_TEXT {
        return Err("RICH_MESSAGE_TEXT_TOO_LONG".to_owned());
    }
    if drawing.count.media > MAX_MEDIA {
        return Err("RICH_MESSAGE_MEDIA_TOO_MANY".to_owned());
    }
    if drawing.count.text == 0 && drawing.count.media == 0 && drawing.rows.is_empty() {
        return Err("RICH_MESSAGE_EMPTY".to_owned());
    }
    let mut text = drawing.output.done();
    let number = |entity: &Value, name: &str| entity[name].as_u64().unwrap_or(0);
    text.entities
        .sort_by_key(|entity| (number(entity, "offset"), u64::MAX - number(entity, "length")));
    Ok((text, drawing.rows))
}

/// The counts that have limits.
#[derive(Debug, Default)]
struct RichCount {
    text: usize,
    blocks: usize,
    media: usize,
}

/// A drawing that grows.
#[derive(Debug, Default)]
struct Drawing {
    output: EntityOutput,
    rows: Vec<Vec<Value>>,
    count: RichCount,
    /// The blanks before each line of a list within a list.
    indent: usize,
    using: RichUse,
}

impl Drawing {
    /// Adds a text that is no part of the message, such as the sign of a list.
    fn sign(&mut self, text: &str) {
        for c in text.chars() {
            self.output.push(c);
            if c == '\n' {
                (0..self.indent).for_each(|_| self.output.push(' '));
            }
        }
    }

    /// Adds a text of the message.
    fn text(&mut self, text: &str) {
        self.count.text += text.chars().count();
        self.sign(text);
    }

    /// Adds a rich text.
    fn rich_text(&mut self, text: &Value, depth: usize) -> RichResult {
        check_depth(depth)?;
        match text {
            Value::String(text) => {
                self.text(text);
                Ok(())
            }
            Value::Array(parts) => parts.iter().try_for_each(|part| self.rich_text(part, depth)),
            Value::Object(_) => self.formatted(text, depth),
            _ => Err("can't parse RichText: Unsupported rich text type".to_owned()),
        }
    }

    fn formatted(&mut self, text: &Value, depth: usize) -> RichResult {
        let offset = self.output.length;
        match text["type"].as_str().unwrap_or_default() {
            "mathematical_expression" => {
                self.text(text["expression"].as_str().unwrap_or_default());
                self.output.close("code", offset, &[]);
            }
            "custom_emoji" => self.text(text["alternative_text"].as_str().unwrap_or_default()),
            "anchor" => {}
            "button" => self.rows.push(vec![button(&text["button"])?]),
            "reference_link" => {
                self.sign("[");
                self.rich_text(&text["text"], depth + 1)?;
                self.sign("]");
            }
            kind => {
                let row = FORMATS.iter().find(|(known, _)| *known == kind);
                let (_, entity) = row.ok_or("can't parse RichText: Unsupported rich text type")?;
                self.rich_text(&text["text"], depth + 1)?;
                let url = text["url"].as_str().map(|url| ("url", url));
                match url {
                    Some(url) if *entity == "text_link" => {
                        self.output.close(entity, offset, &[url]);
                    }
                    _ if entity.is_empty() => {}
                    _ => self.output.close(entity, offset, &[]),
                }
            }
        }
        Ok(())
    }

    /// Adds blocks with a text between them. One that shows nothing in the text takes no room.
    fn blocks(&mut self, blocks: &Value, depth: usize, between: &str) -> RichResult {
        let mut drawn = self.output.text.len();
        let begin = drawn;
        for block in blocks.as_array().into_iter().flatten() {
            let before = (self.output.text.len(), self.output.length);
            if drawn > begin {
                self.sign(between);
            }
            let start = self.output.text.len();
            self.block(block, depth)?;
            if self.output.text.len() == start {
                self.output.text.truncate(before.0);
                self.output.length = before.1;
            }
            drawn = self.output.text.len();
        }
        Ok(())
    }

    /// Counts a block.
    fn count_block(&mut self) -> RichResult {
        self.count.blocks += 1;
        match self.count.blocks <= MAX_BLOCKS {
            true => Ok(()),
            false => Err("RICH_MESSAGE_BLOCKS_TOO_MANY".to_owned()),
        }
    }

    fn block(&mut self, block: &Value, depth: usize) -> RichResult {
        check_depth(depth)?;
        self.count_block()?;
        let offset = self.output.length;
        let kind = block["type"].as_str().ok_or_else(|| no_field("type"))?;
        match kind {
            "paragraph" | "footer" => self.rich_text(field(block, "text")?, depth + 1),
            "heading" => {
                self.rich_text(field(block, "text")?, depth + 1)?;
                self.required(offset)?;
                self.output.close("bold", offset, &[]);
                Ok(())
            }
            "thinking" if self.using == RichUse::Message => {
                // The Bot API allows it in drafts alone. The words are those for other blocks that a bot may not send
                // (<https://pkg.go.dev/github.com/gotd/botapi/examples/rich>).
                Err("RICH_VALIDATE_CTOR_NOT_ALLOWED".to_owned())
            }
            "thinking" => {
                self.rich_text(field(block, "text")?, depth + 1)?;
                self.output.close("italic", offset, &[]);
                Ok(())
            }
            "pre" => {
                self.rich_text(field(block, "text")?, depth + 1)?;
                let language = block["language"].as_str().map(|name| ("language", name));
                self.output.close("pre", offset, language.as_slice());
                Ok(())
            }
            "divider" => {
                self.sign("———");
                Ok(())
            }
            "anchor" => Ok(()),
            "mathematical_expression" => self.formatted(block, depth),
            "list" => self.list(block, depth),
            "blockquote" => {
                self.blocks(field(block, "blocks")?, depth + 1, "\n\n")?;
                self.quotation(block, offset, depth)
            }
            "expandable_blockquote" | "pullquote" => {
                self.rich_text(field(block, "text")?, depth + 1)?;
                self.quotation(block, offset, depth)
            }
            "details" => {
                self.rich_text(field(block, "summary")?, depth + 1)?;
                self.output.close("bold", offset, &[]);
                self.sign("\n");
                let offset = self.output.length;
                self.blocks(field(block, "blocks")?, depth + 1, "\n\n")?;
                self.quotation(&Value::Null, offset, depth)
            }
            "collage" | "slideshow" => {
                self.blocks(field(block, "blocks")?, depth + 1, "\n")?;
                self.required(offset)?;
                self.caption(&block["caption"], depth)
            }
            "table" => self.table(block, depth),
            "map" => {
                let place = &block["location"];
                self.sign(&format!("🗺 {}, {}", place["latitude"], place["longitude"]));
                self.caption(&block["caption"], depth)
            }
            "buttons" => {
                let buttons = field(block, "buttons")?.as_array().into_iter().flatten();
                let row: Vec<Value> = buttons.map(button).collect::<Result<_, String>>()?;
                self.count.text += row.iter().map(label_length).sum::<usize>();
                self.rows.push(row);
                Ok(())
            }
            kind if MEDIA.contains(&kind) => {
                self.count.media += 1;
                self.sign(&format!("📎 {}", file_name(field(block, kind)?)));
                self.caption(&block["caption"], depth)
            }
            kind => Err(format!("can't parse InputRichBlock: type \"{kind}\" is unsupported")),
        }
    }

    /// Returns an error if nothing has come since an offset.
    fn required(&self, offset: usize) -> RichResult {
        match self.output.length > offset {
            true => Ok(()),
            false => Err("RICH_MESSAGE_CONTENT_REQUIRED".to_owned()),
        }
    }

    /// Ends a quotation with its author.
    fn quotation(&mut self, block: &Value, offset: usize, depth: usize) -> RichResult {
        self.required(offset)?;
        if let Some(credit) = block.get("credit") {
            self.sign("\n— ");
            self.rich_text(credit, depth + 1)?;
        }
        self.output.close("blockquote", offset, &[]);
        Ok(())
    }

    /// Adds the caption of a block below it.
    fn caption(&mut self, caption: &Value, depth: usize) -> RichResult {
        for part in ["text", "credit"].iter().filter_map(|part| caption.get(part)) {
            self.sign("\n");
            self.rich_text(part, depth + 1)?;
        }
        Ok(())
    }

    fn list(&mut self, block: &Value, depth: usize) -> RichResult {
        let items = field(block, "items")?.as_array().map(Vec::as_slice).unwrap_or_default();
        if items.is_empty() {
            return Err("RICH_MESSAGE_CONTENT_REQUIRED".to_owned());
        }
        for (place, item) in items.iter().enumerate() {
            self.count_block()?;
            if place > 0 {
                self.sign("\n");
            }
            let value = item["value"].as_i64().map(|value| format!("{value}."));
            let label = item["label"].as_str().map(str::to_owned).or(value);
            let label = match (item["has_checkbox"] == true, item["is_checked"] == true) {
                (true, true) => "☑".to_owned(),
                (true, false) => "☐".to_owned(),
                (false, _) => label.unwrap_or_else(|| "•".to_owned()),
            };
            self.sign(&format!("{label} "));
            let offset = self.output.length;
            self.indent += 2;
            self.blocks(field(item, "blocks")?, depth + 1, "\n")?;
            self.indent -= 2;
            self.required(offset)?;
        }
        Ok(())
    }

    fn table(&mut self, block: &Value, depth: usize) -> RichResult {
        let rows = field(block, "cells")?.as_array().into_iter().flatten();
        for (place, row) in rows.enumerate() {
            self.count_block()?;
            if place > 0 {
                self.sign("\n");
            }
            let cells = row.as_array().map(Vec::as_slice).unwrap_or_default();
            let columns =
                cells.iter().map(|cell| cell["colspan"].as_u64().unwrap_or(1)).sum::<u64>();
            if columns > MAX_COLUMNS as u64 {
                return Err("RICH_MESSAGE_TABLE_COLS_TOO_MANY".to_owned());
            }
            for (column, cell) in cells.iter().enumerate() {
                if column > 0 {
                    self.sign(" | ");
                }
                let offset = self.output.length;
                if let Some(text) = cell.get("text") {
                    self.rich_text(text, depth + 1)?;
                }
                if cell["is_header"] == true {
                    self.output.close("bold", offset, &[]);
                }
            }
        }
        match block.get("caption") {
            Some(caption) => {
                self.sign("\n");
                self.rich_text(caption, depth + 1)
            }
            None => Ok(()),
        }
    }
}

fn check_depth(depth: usize) -> RichResult {
    match depth <= MAX_DEPTH {
        true => Ok(()),
        false => Err("RICH_MESSAGE_DEPTH_INVALID".to_owned()),
    }
}

/// Returns a field of a block that must be there.
fn field<'b>(block: &'b Value, name: &str) -> Result<&'b Value, String> {
    block.get(name).filter(|value| !value.is_null()).ok_or_else(|| no_field(name))
}

fn no_field(name: &str) -> String {
    format!("can't parse InputRichBlock: can't find field \"{name}\"")
}

/// Returns a button with its text as plain text.
fn button(button: &Value) -> Result<Value, String> {
    let mut label = Drawing { using: RichUse::Draft, ..Drawing::default() };
    label.rich_text(field(button, "text")?, 1)?;
    let mut plain = button.clone();
    plain["text"] = label.output.text.into();
    Ok(plain)
}

fn label_length(button: &Value) -> usize {
    button["text"].as_str().map_or(0, |text| text.chars().count())
}

/// Returns the name of a file: of a file that the bot names, or of a sent one.
fn file_name(file: &Value) -> &str {
    let named = [&file["media"], &file["file_id"], &file[0]["file_id"]];
    let named = named.into_iter().find_map(Value::as_str).unwrap_or("file");
    let name = named.rsplit(['/', '=']).next().unwrap_or(named);
    if name.is_empty() { named } else { name }
}
