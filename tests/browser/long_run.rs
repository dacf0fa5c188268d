//! Tests of the page of a run with more events than one table shows.

use libtest_mimic::Failed;

use super::common::{run, workspace};
use super::page::Page;
use super::{WINDOW, expect, quiet};

pub(super) fn folds() -> Result<(), Failed> {
    let dir = workspace(&[]);
    let text = |n: usize| {
        let delta = format!(r#"{{"type":"text_delta","text":"{n} "}}"#);
        let event = format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
        format!(r#"{{"type":"stream_event","event":{event}}}"#)
    };
    let end = r#"{"type":"result","subtype":"success","is_error":false,"result":""}"#.to_owned();
    let lines: Vec<_> = (0..900).map(text).chain([end]).collect();
    std::fs::write(dir.path().join("long.jsonl"), lines.join("\n") + "\n")?;
    let import = ["import", "long.jsonl", "--scenario", "long", "--cli-version", "2.1.329"];
    // The goldens that an import does not have yet are findings of a proof.
    let proof = ["proof", "long", "--no-png", "--out", "."];
    for (args, code) in [(&import[..], 0), (&proof, 3)] {
        let (got, told, err) = run(dir.path(), args);
        expect(got == code, &format!("{told}{err}"))?;
    }
    let mut browser = Page::open(&dir.path().join("index.html"), WINDOW, false)?;
    let unfolded = "return [...document.querySelectorAll('.chunk')].map((one) => one.open).join()";
    let folds = |browser: &mut Page, expected: &str| {
        let seen = browser.script(unfolded)?;
        expect(seen == expected, &format!("{seen}, not {expected}"))
    };
    folds(&mut browser, "false,false,true")?;
    browser.key("Home")?;
    folds(&mut browser, "true,false,false")?;
    let here = "const row = document.querySelector('.here').getBoundingClientRect(); \
                const table = document.querySelector('.scroll').getBoundingClientRect(); \
                return row.top >= table.top && row.bottom <= table.bottom";
    expect(browser.script(here)? == true, "the event is not in view")?;
    browser.script("document.querySelectorAll('.chunk summary')[1].click()")?;
    browser.script("document.querySelectorAll('.chunk')[1].querySelector('tbody tr').click()")?;
    let what = browser.text(".what")?;
    expect(what.starts_with("Event 1001: "), &what)?;
    folds(&mut browser, "false,true,false")?;
    expect(browser.script(here)? == true, "the event is not in view")?;
    quiet(&mut browser)
}
