//! `page.png`: the page as Chromium shows it, from top to end, in the light.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::json;

use super::chromium::{Chromium, PhotoError};

/// How wide the page is, in pixels.
const WIDTH: u64 = 1100;
/// How much of it is shown at most, in pixels; Chromium draws no taller picture in one piece.
const TALLEST: u64 = 16_000;

/// A picture of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Photo {
    /// The bytes of the PNG.
    pub png: Vec<u8>,
    /// How tall the picture is, in pixels.
    pub height: u64,
    /// How tall the page is, in pixels; more than `height` where its end is left out.
    pub page_height: u64,
}

/// Takes a picture of the page in this file; setting `stop` ends it.
///
/// # Errors
///
/// [`PhotoError`] when Chromium can't be started or does not answer, or `stop` is set; nothing of it is left then.
pub fn photo(chromium: &Chromium, page: &Path, stop: &AtomicBool) -> Result<Photo, PhotoError> {
    let mut browser = chromium.start(stop)?;
    let blank = json!({ "url": "about:blank" });
    let target = browser.ask(None, "Target.createTarget", &blank)?["targetId"].take();
    let attach = json!({ "targetId": target, "flatten": true });
    let session = browser.ask(None, "Target.attachToTarget", &attach)?["sessionId"].take();
    let session = session.as_str();
    let light = json!({ "features": [{ "name": "prefers-color-scheme", "value": "light" }] });
    let size = json!({ "width": WIDTH, "height": 1000, "deviceScaleFactor": 1, "mobile": false });
    browser.ask(session, "Emulation.setEmulatedMedia", &light)?;
    browser.ask(session, "Emulation.setDeviceMetricsOverride", &size)?;
    browser.ask(session, "Page.enable", &json!({}))?;
    browser.ask(session, "Page.setLifecycleEventsEnabled", &json!({ "enabled": true }))?;
    let url = file_url(&std::path::absolute(page)?);
    let opened = browser.ask(session, "Page.navigate", &json!({ "url": url }))?;
    if let Some(what) = opened["errorText"].as_str() {
        return Err(PhotoError::Refused { method: "Page.navigate", what: what.to_owned() });
    }
    let loader = &opened["loaderId"];
    browser
        .wait(|told| told["params"]["name"] == "load" && told["params"]["loaderId"] == *loader)?;
    let layout = browser.ask(session, "Page.getLayoutMetrics", &json!({}))?;
    let page_height = layout["cssContentSize"]["height"].as_f64().unwrap_or_default().ceil() as u64;
    let height = page_height.clamp(1, TALLEST);
    let clip = json!({ "x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1 });
    let how = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
    let method = "Page.captureScreenshot";
    let taken = browser.ask(session, method, &how)?;
    let png = taken["data"].as_str().and_then(|data| STANDARD.decode(data).ok());
    let png = png.ok_or(PhotoError::Refused { method, what: "no picture came".to_owned() })?;
    Ok(Photo { png, height, page_height })
}

/// The bytes that stay as they are in the path of an address.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns the address of a file.
fn file_url(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_bytes(), PATH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_has_an_address() {
        assert_eq!(file_url(Path::new("/a b/%é#.html")), "file:///a%20b/%25%C3%A9%23.html");
    }
}
