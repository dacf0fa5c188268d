//! The methods that send files: one in a message, or an album of several.
//!
//! A file is one in the request, one that is known by its id, or one at an address.

use clitape_recording::chat::{CALL_HTML, FILE_TEXT, SeenFile};
use serde_json::{Map, Value, json};

use super::markup;
use super::messages::{BotText, ChatCall, TextPlace};
use super::wire::{ApiError, ApiResult, UploadedFile};

/// The largest file whose text stands in its call, in bytes.
const MOST_TEXT: usize = 1 << 20;

/// The most messages of an album.
const MAX_ALBUM: usize = 10;

/// The kinds of files that an album may have, and whether they may be mixed with other kinds.
const ALBUM_KINDS: [(&str, bool); 5] =
    [("photo", true), ("video", true), ("live_photo", true), ("audio", false), ("document", false)];

pub(super) fn send_document(call: &mut ChatCall<'_>) -> ApiResult {
    send_file(call, "document")
}

pub(super) fn send_photo(call: &mut ChatCall<'_>) -> ApiResult {
    send_file(call, "photo")
}

/// Sends a file with a caption.
fn send_file(call: &mut ChatCall<'_>, field: &'static str) -> ApiResult {
    let text = call.formatted(TextPlace::Caption)?;
    let uploaded = call.params.file(field);
    let file = match store(call, uploaded, call.params.text(field).as_deref())? {
        Some(file) => file,
        None => return Err(ApiError::bad(format!("there is no {field} in the request"))),
    };
    call.set("file", file.name.as_str());
    if let Some(text) = &file.text {
        call.set(FILE_TEXT, text.as_str());
    }
    let mut message = call.new_message()?;
    message.file = Some((field, file.json(field)));
    call.add(text, message)
}

/// A file that the server keeps, or that is at an address.
struct StoredUpload {
    id: String,
    name: String,
    bytes: usize,
    /// The text of an upload that a person opens to read it.
    text: Option<String>,
}

impl StoredUpload {
    /// Returns the file as the Bot API describes one of this kind.
    fn json(&self, field: &str) -> Value {
        let (id, unique) = (&self.id, format!("unique-{}", self.id));
        let mut file = json!({ "file_id": id, "file_unique_id": unique, "file_size": self.bytes });
        match field {
            "photo" => {
                (file["width"], file["height"]) = (320.into(), 240.into());
                return json!([file]);
            }
            "video" | "live_photo" => {
                (file["width"], file["height"]) = (320.into(), 240.into());
                file["duration"] = 1.into();
            }
            "audio" => file["duration"] = 1.into(),
            _ => {}
        }
        file["file_name"] = self.name.as_str().into();
        file
    }
}

/// Stores the file of a parameter: an upload, or the file that its text names; `None` if it has neither.
fn store(
    call: &mut ChatCall<'_>,
    uploaded: Option<&UploadedFile>,
    named: Option<&str>,
) -> Result<Option<StoredUpload>, ApiError> {
    let (id, name, bytes) = match (uploaded, named) {
        (Some(file), _) if file.bytes.is_empty() => {
            return Err(ApiError::bad("file must be non-empty"));
        }
        (Some(file), _) => {
            (call.files.keep(&file.name, &file.bytes)?, file.name.clone(), file.bytes.clone())
        }
        (None, Some(id)) if call.files.get(id).is_some() => {
            let known = call.files.get(id).map(|file| (file.name.clone(), file.bytes.clone()));
            let (name, bytes) = known.unwrap_or_default();
            (id.to_owned(), name, bytes.to_vec())
        }
        (None, Some(url)) if url.starts_with("http") => {
            let name = url.rsplit('/').next().unwrap_or_default().to_owned();
            (call.files.keep(&name, b"")?, name, Vec::new())
        }
        (None, Some(_)) => return Err(ApiError::bad("wrong file identifier/HTTP URL specified")),
        (None, None) => return Ok(None),
    };
    let is_read = SeenFile::is_text(&name) && (1..=MOST_TEXT).contains(&bytes.len());
    let text = is_read.then(|| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Some(StoredUpload { id, name, bytes: bytes.len(), text }))
}

/// A part of an album: its file and its caption.
struct AlbumPart {
    field: &'static str,
    file: Value,
    text: super::markup::FormattedText,
    sent: BotText,
    /// The part in the entry.
    data: Map<String, Value>,
}

/// Sends an album. Like TDLib, which is Telegram's own server of the Bot API, it sends a single part without a group,
/// although the Bot API asks for two or more (`MessagesManager::send_message_group` and
/// `check_message_group_message_contents` of <https://github.com/tdlib/td>).
pub(super) fn send_media_group(call: &mut ChatCall<'_>) -> ApiResult {
    if call.params.raw("media").is_none() {
        return Err(ApiError::bad("parameter \"media\" is required"));
    }
    let media = call.params.json("media");
    let media = media.ok_or_else(|| ApiError::bad("can't parse media JSON object"))?;
    let media = media.as_array();
    let media = media.ok_or_else(|| ApiError::bad("expected an Array of InputMedia"))?;
    if media.len() > MAX_ALBUM {
        return Err(ApiError::bad("too many messages to send as an album"));
    }
    if media.is_empty() {
        return Err(ApiError::bad("there are no messages to send"));
    }
    let mut parts = Vec::new();
    for media in media {
        parts.push(part(call, media)?);
    }
    check_kinds(&parts)?;
    let captions: Vec<&str> = parts.iter().map(|part| part.sent.source.as_str()).collect();
    let captions: Vec<&str> = captions.into_iter().filter(|text| !text.is_empty()).collect();
    call.set("text", captions.join("\n\n"));
    let message = call.new_message()?;
    call.chat.check_messages(&call.limits)?;
    let group = (parts.len() > 1).then_some(*call.last_message + 1);
    let (mut album, mut sent) = (Vec::new(), Vec::new());
    for part in parts {
        let mut message = message.clone();
        message.id = call.next_id()?;
        message.group = group;
        (message.text, message.entities) = (part.text.text, part.text.entities);
        (message.source, message.parse_mode) = (part.sent.source, part.sent.mode);
        message.file = Some((part.field, part.file));
        let mut data = part.data;
        data.shift_insert(0, "message_id".into(), message.id.into());
        album.push(Value::Object(data));
        sent.push(call.show(message));
    }
    call.set("album", album);
    Ok(sent.into())
}

/// Reads a part of an album, and stores its file.
fn part(call: &mut ChatCall<'_>, media: &Value) -> Result<AlbumPart, ApiError> {
    let broken = |words: &str| ApiError::bad(format!("can't parse InputMedia: {words}"));
    if !media.is_object() {
        return Err(broken("expected an Object"));
    }
    let sent = BotText {
        source: media["caption"].as_str().unwrap_or_default().to_owned(),
        mode: media["parse_mode"].as_str().filter(|mode| !mode.is_empty()).map(str::to_owned),
        entities: media.get("caption_entities").cloned(),
    };
    let text = sent.read(TextPlace::Caption)?;
    let kind = media["type"].as_str();
    let kind = kind.ok_or_else(|| broken("can't find field \"type\""))?;
    let named = media["media"].as_str().filter(|named| !named.is_empty());
    let uploaded = named.and_then(|named| call.params.attached(named));
    let file = match store(call, uploaded, named) {
        Ok(file) => file.ok_or_else(|| broken("media not found"))?,
        Err(_) if named.is_some_and(|named| named.starts_with("attach://")) => {
            return Err(broken("media not found"));
        }
        Err(error) => return Err(error),
    };
    let known = ALBUM_KINDS.iter().find(|(known, _)| *known == kind);
    let (field, _) = known.ok_or_else(|| match kind {
        "animation" => broken("type \"animation\" can't be used in sendMediaGroup"),
        kind => broken(&format!("type \"{kind}\" is unsupported")),
    })?;
    let mut data = Map::new();
    data.insert("file".into(), file.name.as_str().into());
    data.extend(file.text.as_ref().map(|text| (FILE_TEXT.to_owned(), text.as_str().into())));
    if !sent.source.is_empty() {
        data.insert("text".into(), sent.source.as_str().into());
        data.extend(sent.mode.as_ref().map(|mode| ("parse_mode".to_owned(), mode.clone().into())));
        let html = markup::html(&text);
        data.extend((html != sent.source).then(|| (CALL_HTML.to_owned(), html.into())));
    }
    Ok(AlbumPart { field, file: file.json(field), text, sent, data })
}

/// Returns an error if an album mixes kinds of files that Telegram groups with their own kind only.
fn check_kinds(parts: &[AlbumPart]) -> Result<(), ApiError> {
    let is_alone = |field: &str| ALBUM_KINDS.contains(&(field, false));
    let first = parts.first().map_or("", |part| part.field);
    let alone = parts.iter().map(|part| part.field).find(|field| is_alone(field));
    match alone.filter(|_| parts.iter().any(|part| part.field != first)) {
        None => Ok(()),
        Some(field) => Err(ApiError::bad(format!("{field} can't be mixed with other media types"))),
    }
}
