//! Tests of the proof page in a real browser: the Chromium with which clitape takes its pictures. Without Chromium
//! these tests are reported as ignored; they fail instead if `CLITAPE_REQUIRE` names `chromium`.

mod common;
#[path = "browser/long_run.rs"]
mod long_run;
#[path = "common/page.rs"]
mod page;

use std::path::Path;
use std::process::ExitCode;

use common::{clitape, root, run, workspace};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use page::{Page, chromium};
use tempfile::TempDir;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let trials = vec![
        trial("the_page_loads_without_errors_or_requests", loads),
        trial("keys_step_and_space_plays", scrubs),
        trial("a_key_frame_leads_to_its_moment", key_frames),
        trial("the_keyboard_drives_the_run_in_view", in_view),
        trial("the_chat_says_who_types_and_what_was_refused", said),
        trial("lanes_are_filtered_and_events_found_by_a_click", filters),
        trial("the_events_of_a_long_run_are_folded", long_run::folds),
        trial("further_runs_are_parts_of_their_scenario", further),
        trial("v8_hostile_output_stays_text", hostile),
        trial("it_is_readable_on_a_phone_in_the_dark_and_on_paper", fits),
        trial("a_proof_has_a_picture_of_its_page_and_leaves_no_profile", pictured),
        trial("a_comparison_loads_and_is_readable_on_a_phone", compares),
        trial("a_test_run_loads_and_leads_to_what_failed", reports),
        trial("what_a_page_says_and_asks_for_is_heard", heard),
    ];
    libtest_mimic::run(&args, trials).exit_code()
}

fn trial(name: &str, test: fn() -> Result<(), Failed>) -> Trial {
    Trial::ignorable_test(name, move || {
        if chromium().is_ok() {
            return test().map(|()| Completion::Completed);
        }
        let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
        if required.split([',', ' ']).any(|tool| tool == "chromium") {
            return Err("Chromium is not installed, and CLITAPE_REQUIRE names it".into());
        }
        Ok(Completion::ignored_with("Chromium is not installed"))
    })
}

/// A script that returns by how many pixels the page is wider than its window.
const WIDER: &str =
    "return document.documentElement.scrollWidth - document.documentElement.clientWidth";

/// The width and the height of a desk's window, and of a phone's.
const WINDOW: (u64, u64) = (1200, 1500);
const PHONE: (u64, u64) = (400, 1700);

/// Opens a page of scenarios; the page needs the folder until the test ends.
fn open(scenarios: &[&str], size: (u64, u64), dark: bool) -> Result<(Page, TempDir), Failed> {
    let dir = tempfile::tempdir()?;
    let out = dir.path().to_str().ok_or("a path that is no text")?;
    let (code, told, err) =
        run(root(), &[&["proof", "--no-png"], scenarios, &["--out", out]].concat());
    expect(code == 0, &format!("{told}{err}"))?;
    let page = Page::open(&dir.path().join("index.html"), size, dark)?;
    Ok((page, dir))
}

fn expect(holds: bool, otherwise: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

/// Checks that the console is empty, and that the page has requested only its own file.
fn quiet(page: &mut Page) -> Result<(), Failed> {
    let (console, asked) = page.log()?;
    expect(console.is_empty(), &format!("the console says {console:?}"))?;
    let one = matches!(&asked[..], [url] if url.starts_with("file://") && url.ends_with(".html"));
    expect(one, &format!("it asked for {asked:?}"))
}

fn loads() -> Result<(), Failed> {
    let (mut browser, _dir) = open(&["three-tools", "bash-count"], WINDOW, false)?;
    expect(
        browser.script("return document.title")?
            == "Proof: Two reads and a command, Counting files with one command",
        "title",
    )?;
    let chat = browser.text(".chat")?;
    expect(chat.contains("the client asks for port 8081."), &chat)?;
    expect(
        browser.script("return document.querySelectorAll('.chat .bubble').length")? == 4,
        "a question and an answer in each scenario",
    )?;
    let legend = browser.text("header .note")?;
    expect(["lane", "plan", "invariant"].iter().all(|word| legend.contains(word)), &legend)?;
    quiet(&mut browser)
}

fn scrubs() -> Result<(), Failed> {
    let (mut browser, _dir) = open(&["three-tools"], WINDOW, false)?;
    browser.key("Home")?;
    let chat = browser.text(".chat")?;
    expect(chat == "Do the ports in server.conf and client.conf agree?0.000 s", &chat)?;
    browser.key("ArrowRight")?;
    browser.key("ArrowRight")?;
    let what = browser.text(".what")?;
    expect(what.starts_with("Event 3: "), &what)?;
    browser.key("ArrowLeft")?;
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
    let italic = browser.text(".chat .bubble .i")?;
    expect(italic == "running…", &italic)?;
    browser.key(" ")?;
    browser.wait("return Number(document.querySelector('.time').value) >= 9000")?;
    browser.key(" ")?;
    let label = browser.text(".play")?;
    expect(label == "▶ play", &label)?;
    browser.key("End")?;
    let chat = browser.text(".chat")?;
    expect(chat.contains("final ✓✓"), &chat)?;
    quiet(&mut browser)
}

fn key_frames() -> Result<(), Failed> {
    let (mut browser, _dir) = open(&["three-tools", "bash-count"], PHONE, false)?;
    let titles = browser.script(
        "return [...document.querySelectorAll('.moments')[0].querySelectorAll('b')]\
         .map((title) => title.textContent).join()",
    )?;
    expect(titles == "asked,first sign, text,Read,Read,Bash,final", &titles.to_string())?;
    let top = "return document.querySelector('.moment .bubble').getBoundingClientRect().bottom";
    let top = browser.script(top)?;
    expect(top.as_f64().is_some_and(|top| top < 800.0), &format!("the first chat ends at {top}"))?;
    let clock =
        |browser: &mut Page, run: u64| browser.text(&format!("section[data-run=\"{run}\"] .clock"));
    browser.script("document.querySelectorAll('.moment')[3].click()")?;
    browser.wait("return location.hash === '#t=7400'")?;
    let told = clock(&mut browser, 0)?;
    expect(told == "7.400 s of 16.080 s", &told)?;
    expect(browser.text(".chat")?.contains("client.conf running…"), "another moment")?;
    for (hash, run, expected) in [
        ("#run=1&t=0", 1, "0.000 s of "),
        ("#t=99999999", 0, "16.080 s of 16.080 s"),
        ("#t=0", 0, "0.000 s of 16.080 s"),
        ("#t=soon", 0, "0.000 s of 16.080 s"),
        ("#run=7&t=1", 0, "0.000 s of 16.080 s"),
    ] {
        browser.script(&format!(
            "addEventListener('hashchange', () => window.hash = location.hash); \
             location.hash = '{hash}'"
        ))?;
        browser.wait(&format!("return window.hash === '{hash}'"))?;
        let told = clock(&mut browser, run)?;
        expect(told.starts_with(expected), &format!("{hash}: {told}"))?;
    }
    quiet(&mut browser)
}

fn in_view() -> Result<(), Failed> {
    let (mut browser, _dir) = open(&["three-tools", "bash-count"], WINDOW, false)?;
    let clocks = "return [...document.querySelectorAll('.clock')].map((one) => one.textContent)";
    let before = browser.script(clocks)?;
    browser.script("document.querySelectorAll('.scrubber')[1].scrollIntoView()")?;
    browser.key("Home")?;
    let after = browser.script(clocks)?;
    let is_driven = after[0] == before[0] && after[1] != before[1];
    expect(is_driven, &format!("{before} became {after}"))
}

/// Checks that a call of the Bot API that puts no text into the chat is listed below the agent's name.
fn said() -> Result<(), Failed> {
    let (mut browser, _dir) = open(&["three-tools"], WINDOW, false)?;
    browser.script("document.querySelector('tr.telegram').click()")?;
    let status = browser.text(".status")?;
    expect(status == "typing…", &status)?;
    browser.key("End")?;
    expect(browser.text(".status")?.is_empty(), "the agent still types")?;
    let (mut browser, _dir) = open(&["chat-rate-limited"], WINDOW, false)?;
    browser.script(
        "[...document.querySelectorAll('tr.telegram')]\
         .find((row) => row.textContent.includes('rate-limit')).click()",
    )?;
    let status = browser.text(".status.broken")?;
    expect(status.contains("rate-limit"), &status)
}

fn filters() -> Result<(), Failed> {
    let (mut browser, _dir) = open(&["three-tools"], WINDOW, false)?;
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
    browser.key("ArrowLeft")?; // left goes to the call before, over what is hidden
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
    let (mut browser, _dir) = open(&["plain-text", "resume-fork"], WINDOW, false)?;
    let runs =
        browser.script("return document.querySelectorAll('section.case section.run').length")?;
    expect(runs == 3, &format!("{runs} runs"))?;
    let [first, second] = ["1", "2"].map(|place| format!("section[data-run=\"{place}\"]"));
    for (place, told) in [
        (format!("{first} h3"), "Run 1 begins the session"),
        (format!("{second} h3"), "Run 2 goes on with a copy of the session, under a new id"),
        (format!("{second} .asked q"), "Which word was it?"),
        (format!("{second} .chat"), "maple"),
        (format!("{second} .clock"), " of "),
    ] {
        let text = browser.text(&place)?;
        expect(text.contains(told), &format!("{place}: {text}"))?;
    }
    browser.script(&format!("document.querySelector('{second}').focus()"))?;
    browser.key("Home")?;
    let chats = [first, second].map(|run| browser.text(&format!("{run} .chat")));
    let [first, second] = chats;
    let (first, second) = (first?, second?);
    expect(first.contains("final ✓✓") && !second.contains("maple"), &(first + &second))?;
    let active = browser.script(
        "return [...document.querySelectorAll('.active')].map((run) => run.dataset.run).join()",
    )?;
    expect(active == "2", &active.to_string())?;
    quiet(&mut browser)
}

fn hostile() -> Result<(), Failed> {
    let (mut browser, _dir) = open(&["hostile-output"], WINDOW, false)?;
    let steps = browser.script("return document.querySelectorAll('tr[data-entry]').length")?;
    browser.key("Home")?;
    for _ in 0..steps.as_u64().unwrap_or_default() {
        browser.key("ArrowRight")?;
    }
    let title = browser.script("return document.title")?;
    expect(title == "Proof: Hostile output", &title.to_string())?;
    let chat = browser.text(".chat")?;
    expect(chat.contains("<script>alert(1)</script>, <img src=x onerror=alert(2)>"), &chat)?;
    expect(chat.contains("␛[31mred") && !chat.contains('\u{1b}'), &chat)?;
    let markup = "return document.querySelectorAll('img, a:not(.moment), iframe, body script:not([id])').length";
    expect(browser.script(markup)? == 1, "something became markup")?;
    quiet(&mut browser)
}

fn fits() -> Result<(), Failed> {
    for (name, size, dark) in
        [("light", WINDOW, false), ("dark", WINDOW, true), ("phone", PHONE, false)]
    {
        let (mut browser, _dir) = open(&["three-tools"], size, dark)?;
        browser.script("document.querySelector('tr[data-entry=\"110\"]').click()")?;
        let wider = browser.script(WIDER)?;
        expect(wider == 0, &format!("{size:?}: the page is {wider} pixels too wide"))?;
        let color = browser.script("return getComputedStyle(document.body).backgroundColor")?;
        let is_dark = color != "rgb(255, 255, 255)";
        expect(is_dark == dark, &format!("{size:?}: {color}"))?;
        let picture = browser.screenshot(size.0)?;
        expect(picture.starts_with(b"\x89PNG") && picture.len() > 20_000, "no picture came")?;
        let pdf = browser.print()?;
        expect(pdf.starts_with("JVBERi") && pdf.len() > 20_000, "no paper came")?;
        quiet(&mut browser)?;
        if std::env::var_os("UPDATE_PICTURES").is_some() {
            // Only the top of the page is left, from the title to the chat.
            browser.script(
                "for (const below of document.querySelectorAll('.run ~ *, .events, footer')) below.remove()",
            )?;
            let to = root().join(format!("reports/samples/page-{name}.png"));
            std::fs::write(to, browser.screenshot(size.0)?)?;
        }
    }
    Ok(())
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
    let mut browser = Page::open(&workspace.path().join("made/index.html"), PHONE, false)?;
    expect(browser.script(WIDER)? == 0, "the page is too wide for a phone")?;
    expect(browser.text(".finding b")? == "GD001 golden-differs", "no finding")?;
    // The expected and the actual chat, as a person sees them, on the first screen of a phone.
    let told = browser.text(".found .chats")?;
    expect(told.contains("band") && told.contains("tape"), &told)?;
    for (side, word) in [("del", "band"), ("ins", "tape")] {
        let marked = browser.text(&format!(".found .chats {side}"))?;
        expect(marked.contains(word), &marked)?;
    }
    let bottom = browser
        .script("return document.querySelector('.chats .bubble').getBoundingClientRect().bottom")?;
    let is_seen = bottom.as_f64().is_some_and(|bottom| bottom < 800.0);
    expect(is_seen, &format!("the first chat ends at {bottom}"))?;
    let is_open = browser.script("return document.querySelector('.found details').open")?;
    expect(is_open == false, "the lane is not folded")?;
    let link = browser.script("return document.querySelector('.found a').href")?;
    let path = link.as_str().and_then(|link| link.strip_prefix("file://")).ok_or("no link")?;
    quiet(&mut browser)?;
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        let size = (760, 300);
        let mut browser = Page::open(&workspace.path().join("made/index.html"), size, false)?;
        // Only the finding is left, without what differs from one run to the next.
        browser.script(
            "for (const other of document.querySelectorAll('header p, h2, details, .label, pre, table, ul, hr, footer, .found a')) other.remove()",
        )?;
        std::fs::write(root().join("reports/samples/finding.png"), browser.screenshot(size.0)?)?;
    }
    let mut browser = Page::open(Path::new(path), WINDOW, false)?;
    let told = browser.text("h1")?;
    expect(told == "What failed 1 finding", &told)?;
    let marked = browser.text(".case > .chats ins")?;
    expect(marked.contains("tape"), &marked)?;
    quiet(&mut browser)
}

fn compares() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let out = dir.path().to_str().ok_or("a path that is no text")?;
    let versions = ["compare", "1.0.128", "2.1.329", "resume-good", "hostile-output"];
    let (code, told, err) = run(root(), &[&versions[..], &["--out", out]].concat());
    expect(code == 3, &format!("{told}{err}"))?;
    for size in [WINDOW, PHONE] {
        let mut browser = Page::open(&dir.path().join("index.html"), size, false)?;
        browser
            .script("for (const one of document.querySelectorAll('details')) one.open = true")?;
        let wider = browser.script(WIDER)?;
        expect(wider == 0, &format!("{size:?}: the page is {wider} pixels too wide"))?;
        let beside = browser.script(
            "const [a, b] = document.querySelector('.row:has(.b)').children; \
             return a.getBoundingClientRect().top === b.getBoundingClientRect().top",
        )?;
        expect(beside == (size == WINDOW), &format!("{size:?}: A is beside B: {beside}"))?;
        let last = browser.text(".uncovered li:last-child")?;
        expect(last.starts_with("A live model "), &last)?;
        let markup = "return document.querySelectorAll('img, a, iframe, script').length";
        expect(browser.script(markup)? == 0, "something became markup")?;
        quiet(&mut browser)?;
    }
    Ok(())
}

/// Checks that console and requests are recorded at all, because other tests rely on their being empty.
fn heard() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("index.html");
    let policy = "<meta http-equiv=Content-Security-Policy content=\"script-src 'nonce-a'\">";
    for (html, said, asked) in [
        ("<script>console.log('heard')</script>".to_owned(), "heard", 1),
        ("<script>throw new Error('thrown')</script>".to_owned(), "thrown", 1),
        (format!("{policy}<script>1</script>"), "Content Security Policy", 1),
        ("<img src='other.png'>".to_owned(), "ERR_FILE_NOT_FOUND", 2),
    ] {
        std::fs::write(&file, &html)?;
        let mut browser = Page::open(&file, WINDOW, false)?;
        let (console, urls) = browser.log()?;
        expect(console.join("\n").contains(said), &format!("{html}: {console:?}"))?;
        expect(urls.len() == asked, &format!("{html}: {urls:?}"))?;
    }
    Ok(())
}
