//! The proof page in a real browser: Chromium, driven over the WebDriver protocol. Without Chromium
//! these tests are reported as ignored; they fail instead when `CLITAPE_REQUIRE` names `chromium`.

mod common;
#[path = "common/driver.rs"]
mod driver;

use std::process::{Command, ExitCode};

use common::{clitape, root, run, workspace};
use driver::Browser;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::{Value, json};
use tempfile::TempDir;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let trials = vec![
        trial("the_page_loads_without_errors_or_requests", loads),
        trial("keys_step_and_space_plays", scrubs),
        trial("lanes_are_filtered_and_events_found_by_a_click", filters),
        trial("further_runs_are_parts_of_their_scenario", further),
        trial("v8_hostile_output_stays_text", hostile),
        trial("it_is_readable_on_a_phone_in_the_dark_and_on_paper", fits),
        trial("a_proof_has_a_picture_of_its_page_and_leaves_no_profile", pictured),
        trial("a_comparison_loads_and_is_readable_on_a_phone", compares),
        trial("a_test_run_loads_and_leads_to_what_failed", reports),
    ];
    libtest_mimic::run(&args, trials).exit_code()
}

fn trial(name: &str, test: fn() -> Result<(), Failed>) -> Trial {
    Trial::ignorable_test(name, move || {
        let there = |tool| {
            Command::new(tool).arg("--version").output().is_ok_and(|out| out.status.success())
        };
        if there("chromedriver") {
            return test().map(|()| Completion::Completed);
        }
        let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
        if required.split([',', ' ']).any(|tool| tool == "chromium") {
            return Err("chromedriver is not installed, and CLITAPE_REQUIRE names chromium".into());
        }
        Ok(Completion::ignored_with("chromedriver is not installed"))
    })
}

/// A page of scenarios, opened; the folder lives as long as it is looked at.
fn open(scenarios: &[&str], flags: &[&str]) -> Result<(Browser, TempDir), Failed> {
    let dir = tempfile::tempdir()?;
    let out = dir.path().to_str().ok_or("a path that is no text")?.to_owned();
    let (code, told, err) =
        run(root(), &[&["proof", "--no-png"], scenarios, &["--out", &out]].concat());
    expect(code == 0, &format!("{told}{err}"))?;
    let browser = Browser::start(flags)?;
    browser.go(&format!("file://{out}/index.html"))?;
    Ok((browser, dir))
}

fn expect(holds: bool, otherwise: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

/// Nothing is told on the console, and nothing but the file itself is asked for.
fn quiet(browser: &Browser) -> Result<(), Failed> {
    let console = browser.log("browser")?;
    expect(console.is_empty(), &format!("the console says {console:?}"))?;
    let asked: Vec<String> = browser
        .log("performance")?
        .iter()
        .filter_map(|line| {
            let event: Value = serde_json::from_str(line).ok()?;
            let message = &event["message"];
            let url = message["params"]["request"]["url"].as_str()?;
            (message["method"] == "Network.requestWillBeSent").then(|| url.to_owned())
        })
        .filter(|url| !url.starts_with("data:"))
        .collect();
    let one = matches!(&asked[..], [url] if url.starts_with("file://") && url.ends_with(".html"));
    expect(one, &format!("it asked for {asked:?}"))
}

fn loads() -> Result<(), Failed> {
    let (browser, _dir) = open(&["three-tools", "bash-count"], &[])?;
    expect(
        browser.script("return document.title")?
            == "Proof: Two reads and a command, Counting files with one command",
        "title",
    )?;
    let chat = browser.text(".bubble")?;
    expect(chat.contains("the client asks for port 8081."), &chat)?;
    expect(
        browser.script("return document.querySelectorAll('.bubble').length")? == 2,
        "one bubble a scenario",
    )?;
    quiet(&browser)
}

fn scrubs() -> Result<(), Failed> {
    let (browser, _dir) = open(&["three-tools"], &[])?;
    browser.key("\u{e011}")?; // Home
    expect(browser.text(".chat")? == "nothing to see yet", "something is seen at the start")?;
    browser.key("\u{e014}")?; // right
    browser.key("\u{e014}")?;
    let what = browser.text(".what")?;
    expect(what.starts_with("Event 3: "), &what)?;
    browser.key("\u{e012}")?; // left
    let what = browser.text(".what")?;
    expect(what.starts_with("Event 2: "), &what)?;
    let record = browser.text(".record")?;
    expect(record.starts_with('{'), &record)?;
    browser.script(
        "const time = document.querySelector('.time'); time.value = 7400; \
         time.dispatchEvent(new Event('input'))",
    )?;
    let chat = browser.text(".chat")?;
    expect(chat.contains("📖 Read: from /clitape/project/client.conf running…"), &chat)?;
    expect(chat.contains("edited ×5"), &chat)?;
    let italic = browser.text(".bubble .i")?;
    expect(italic == "running…", &italic)?;
    browser.key(" ")?;
    browser.wait("return Number(document.querySelector('.time').value) >= 9000")?;
    browser.key(" ")?;
    let label = browser.text(".play")?;
    expect(label == "▶ play", &label)?;
    browser.key("\u{e010}")?; // End
    let chat = browser.text(".chat")?;
    expect(chat.contains("final ✓✓"), &chat)?;
    quiet(&browser)
}

fn filters() -> Result<(), Failed> {
    let (browser, _dir) = open(&["three-tools"], &[])?;
    let seen = "return [...document.querySelectorAll('tr[data-entry]')]\
                .filter((row) => row.offsetParent && !row.hidden).map((row) => row.className)";
    browser.script(
        "for (const box of document.querySelectorAll('.lanes input')) \
         if (!box.parentNode.textContent.includes('telegram')) box.click()",
    )?;
    let rows = browser.script(seen)?;
    let rows = rows.as_array().cloned().unwrap_or_default();
    let only = rows.len() >= 16
        && rows.iter().all(|row| row.as_str().is_some_and(|row| row.contains("telegram")));
    expect(only, &format!("{rows:?}"))?;
    browser.key("\u{e012}")?; // left goes to the call before, over what is hidden
    let what = browser.text(".what")?;
    expect(what.ends_with("telegram editMessageText"), &what)?;
    browser.script(
        "[...document.querySelectorAll('tr.telegram')]\
         .find((row) => row.textContent.includes('sendMessage')).click()",
    )?;
    let chat = browser.text(".chat")?;
    expect(chat.contains("📖 Read running…") && chat.contains("sent"), &chat)
}

fn further() -> Result<(), Failed> {
    let (browser, _dir) = open(&["plain-text", "resume-fork"], &[])?;
    let runs =
        browser.script("return document.querySelectorAll('section.case section.run').length")?;
    expect(runs == 3, &format!("{runs} runs"))?;
    let [first, second] = ["1", "2"].map(|place| format!("section[data-run=\"{place}\"]"));
    for (place, told) in [
        (format!("{first} h3"), "Run 1 begins the session"),
        (format!("{second} h3"), "Run 2 goes on with a copy of the session, under a new id"),
        (format!("{second} .asked q"), "Which word was it?"),
        (format!("{second} .bubble"), "maple"),
        (format!("{second} .clock"), " of "),
    ] {
        let text = browser.text(&place)?;
        expect(text.contains(told), &format!("{place}: {text}"))?;
    }
    browser.script(&format!("document.querySelector('{second}').focus()"))?;
    browser.key("\u{e011}")?; // Home
    let chats = [first, second].map(|run| browser.text(&format!("{run} .chat")));
    let [first, second] = chats;
    let (first, second) = (first?, second?);
    expect(first.contains("final ✓✓") && second == "nothing to see yet", &(first + &second))?;
    let active = browser.script(
        "return [...document.querySelectorAll('.active')].map((run) => run.dataset.run).join()",
    )?;
    expect(active == "2", &active.to_string())?;
    quiet(&browser)
}

fn hostile() -> Result<(), Failed> {
    let (browser, _dir) = open(&["hostile-output"], &[])?;
    let steps = browser.script("return document.querySelectorAll('tr[data-entry]').length")?;
    browser.key("\u{e011}")?;
    for _ in 0..steps.as_u64().unwrap_or_default() {
        browser.key("\u{e014}")?;
    }
    let title = browser.script("return document.title")?;
    expect(title == "Proof: Hostile output", &title.to_string())?;
    let chat = browser.text(".chat")?;
    expect(chat.contains("<script>alert(1)</script>, <img src=x onerror=alert(2)>"), &chat)?;
    expect(chat.contains("␛[31mred") && !chat.contains('\u{1b}'), &chat)?;
    let markup = "return document.querySelectorAll('img, a, iframe, body script:not([id])').length";
    expect(browser.script(markup)? == 1, "something became markup")?;
    quiet(&browser)
}

fn fits() -> Result<(), Failed> {
    for flags in [
        &["--window-size=1200,1500"][..],
        &["--window-size=1200,1500", "--blink-settings=preferredColorScheme=0"],
        &["--window-size=500,1700"],
    ] {
        let (browser, _dir) = open(&["three-tools"], flags)?;
        if flags[0].contains("=500") {
            browser.phone(400, 1700)?;
        }
        browser.script("document.querySelector('tr[data-entry=\"110\"]').click()")?;
        let wider = browser.script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth",
        )?;
        expect(wider == 0, &format!("{flags:?}: the page is {wider} pixels too wide"))?;
        let dark = browser.script("return getComputedStyle(document.body).backgroundColor")?;
        let is_dark = dark != "rgb(255, 255, 255)";
        expect(is_dark == (flags.len() == 2), &format!("{flags:?}: {dark}"))?;
        let picture = browser.screenshot()?;
        expect(picture.starts_with("iVBOR") && picture.len() > 20_000, "no picture came")?;
        let pdf = browser.print()?;
        expect(pdf.starts_with("JVBERi") && pdf.len() > 20_000, "no paper came")?;
    }
    let (browser, _dir) = open(&["three-tools"], &[])?;
    expect(json!(browser.log("browser")?) == json!([]), "the console says something")
}

fn pictured() -> Result<(), Failed> {
    let (dir, tmp) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let out = dir.path().to_str().ok_or("a path that is no text")?;
    let mut proof = clitape();
    proof
        .current_dir(root())
        .args(["proof", "three-tools", "--out", out])
        .env("TMPDIR", tmp.path());
    let told = proof.output()?;
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    expect(told.status.success() && said.contains("page.png"), &said)?;
    expect(!said.contains("no page.png"), &said)?;
    let png = std::fs::read(dir.path().join("page.png"))?;
    let number = |at: usize| {
        png.get(at..at + 4).map(|four| four.iter().fold(0, |n, b| n << 8 | u32::from(*b)))
    };
    expect(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 50_000, "no picture came")?;
    let (width, height) = (number(16), number(20));
    expect(width == Some(1100) && height > Some(2000), &format!("{width:?} by {height:?}"))?;
    let left = std::fs::read_dir(tmp.path())?.count();
    expect(left == 0, &format!("{left} files are left of it"))
}

fn reports() -> Result<(), Failed> {
    let workspace = workspace(&["plain-text"]);
    let golden = workspace.path().join("scenarios/plain-text/golden/telegram-partial.snap");
    let text = std::fs::read_to_string(&golden)?;
    std::fs::write(&golden, text.replacen("tape", "band", 1))?;
    let (code, told, err) = run(workspace.path(), &["test", "--html", "made"]);
    expect(code == 3, &format!("{told}{err}"))?;
    let browser = Browser::start(&["--window-size=500,1700"])?;
    browser.go(&format!("file://{}/made/index.html", workspace.path().display()))?;
    browser.phone(400, 1700)?;
    let wider =
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    expect(browser.script(wider)? == 0, "the page is too wide for a phone")?;
    expect(browser.text(".finding b")? == "GD001 golden-differs", "no finding")?;
    let page = browser.script("return document.querySelector('.found a').href")?;
    quiet(&browser)?;
    let browser = Browser::start(&[])?;
    browser.go(page.as_str().ok_or("no link")?)?;
    let told = browser.text("h1")?;
    expect(told == "Proof 1 finding", &told)?;
    quiet(&browser)
}

fn compares() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let out = dir.path().to_str().ok_or("a path that is no text")?.to_owned();
    let versions = ["compare", "1.0.128", "2.1.329", "resume-good", "hostile-output"];
    let (code, told, err) = run(root(), &[&versions[..], &["--out", &out]].concat());
    expect(code == 3, &format!("{told}{err}"))?;
    for flags in [&["--window-size=1200,1500"][..], &["--window-size=500,1700"]] {
        let browser = Browser::start(flags)?;
        browser.go(&format!("file://{out}/index.html"))?;
        if flags[0].contains("=500") {
            browser.phone(400, 1700)?;
        }
        browser
            .script("for (const one of document.querySelectorAll('details')) one.open = true")?;
        let wider = browser.script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth",
        )?;
        expect(wider == 0, &format!("{flags:?}: the page is {wider} pixels too wide"))?;
        let beside = browser.script(
            "const [a, b] = document.querySelector('.row:has(.b)').children; \
             return a.getBoundingClientRect().top === b.getBoundingClientRect().top",
        )?;
        let is_wide = !flags[0].contains("=500");
        expect(beside == is_wide, &format!("{flags:?}: A is beside B: {beside}"))?;
        let last = browser.text(".uncovered li:last-child")?;
        expect(last.starts_with("A live model "), &last)?;
        let markup = "return document.querySelectorAll('img, a, iframe, script').length";
        expect(browser.script(markup)? == 0, "something became markup")?;
        quiet(&browser)?;
    }
    Ok(())
}
