//! Tests of gateways that answer only some persons, chats or messages, and of the settings for them. Each is the
//! example gateway in Python behind a small filter. Without python3 the tests pass without a check; they fail instead
//! if `CLITAPE_REQUIRE` names `python3`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use crate::common::{check, has_program, root, run, workspace};

/// The scenarios with a short recording.
const SHORT: [&str; 3] = ["plain-text", "thinking", "unicode"];

/// The example gateway, behind a filter that decides whether it answers.
const BOT: &str = r#"
import concurrent.futures, json, os, subprocess, sys
sys.path.insert(0, sys.argv[1])
import telegram
from telegram import call
MODE, ALLOWED = sys.argv[2], ",".join(sys.argv[3:]).split(",")
if ALLOWED[0].endswith(".json"): ALLOWED = [str(one) for one in json.load(open(ALLOWED[0]))["users"]]

def in_topic(method, **params):
    """A new message, a draft and a typing signal go to the topic of the thread that answers."""
    if method.startswith("send") and TOPICS.get(params["chat_id"]): params["message_thread_id"] = TOPICS[params["chat_id"]]
    return call(method, **params)

def door(message):
    """Whether a message is answered by claude."""
    chat, sender, text = message["chat"]["id"], message["from"], message.get("text", "")
    if MODE == "ids" and str(sender["id"]) not in ALLOWED:
        call("sendMessage", chat_id=chat, text=f"Unauthorized. Your chat ID is {chat}.")
        return False
    if MODE == "names": return sender["username"] in ALLOWED and IDS.setdefault(sender["username"], sender["id"]) == sender["id"]
    if MODE == "one":
        OWNERS.append(chat)
        return chat == OWNERS[0]
    if MODE == "first":
        if text.startswith("/new"): show(chat, "Where?", "Projects", "Nowhere"); return False
        if chat not in CHOSEN: call("sendMessage", chat_id=chat, text="No active session. Use /new <name> first."); return False
    if MODE == "folder":
        if text.startswith("/open "):
            call("sendMessage", chat_id=chat, text="Opened." if os.path.isdir(text[6:]) else f"No folder {text[6:]}.")
            if os.path.isdir(text[6:]): CHOSEN.append(chat)
            return False
        return chat in CHOSEN
    if MODE == "primes" and chat not in CHOSEN:
        printed = subprocess.run(telegram.CLAUDE + ["-p", "Reply with OK alone."], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
        if not printed: call("sendMessage", chat_id=chat, text="No session can be made."); return False
        telegram.store("sessions", chat, json.loads(printed.splitlines()[0])["session_id"])
        CHOSEN.append(chat)
    if MODE == "group": return message["chat"]["type"] == "supergroup" and text.startswith("@clitape_test_bot ")
    if MODE == "topic":
        if "forum_topic_created" in message or not message.get("is_topic_message"): return False
        TOPICS[chat] = message["message_thread_id"]
    if MODE == "makes-topic":
        if text == "/open":
            made = call("createForumTopic", chat_id=chat, name="agent")["message_thread_id"]
            MADE.append(made)
            call("sendMessage", chat_id=chat, message_thread_id=made, text="Write here.")
        if message.get("message_thread_id") not in MADE or not text: return False
        TOPICS[chat] = message["message_thread_id"]
    return True

def show(chat, text, *labels, message=None):
    rows = {"inline_keyboard": [[{"text": label, "callback_data": label}] for label in labels]}
    edited = {"message_id": message} if message else {}
    call("editMessageText" if message else "sendMessage", chat_id=chat, text=text, reply_markup=rows, **edited)

def pressed(query):
    call("answerCallbackQuery", callback_query_id=query["id"])
    chat, message = query["message"]["chat"]["id"], query["message"]["message_id"]
    if query["data"] == "Projects": show(chat, "Which project?", "myrepo", "other", message=message)
    if query["data"] == "myrepo": CHOSEN.append(chat), show(chat, "Session test is there.", message=message)

OWNERS, CHOSEN, TOPICS, MADE, IDS, busy = [], [], {}, [], {}, []
telegram.call = in_topic
pool = concurrent.futures.ThreadPoolExecutor(1 if MODE == "queue" else 8)
def queued(message):
    try: telegram.answer(message["chat"]["id"], message["text"])
    finally: busy.pop()
offset = 0
while True:
    for update in call("getUpdates", offset=offset, timeout=50):
        offset, message = update["update_id"] + 1, update.get("message") or {}
        if "callback_query" in update: pressed(update["callback_query"])
        if message and door(message):
            if MODE == "queue" and busy: call("sendMessage", chat_id=message["chat"]["id"], text=f"Queued - {len(busy)} tasks ahead.")
            busy.append(1)
            pool.submit(queued, message)
"#;

/// Plays these scenarios at the gateway with these settings, and checks the exit code and the output.
#[track_caller]
fn check_bot(
    scenarios: &[&str],
    arguments: &str,
    settings: &str,
    code: i32,
    says: &[&str],
) -> String {
    check_paced(scenarios, arguments, settings, "0", code, says)
}

/// Does the same with this many milliseconds for each line of `claude`; 0 keeps the recorded times.
#[track_caller]
fn check_paced(
    scenarios: &[&str],
    arguments: &str,
    settings: &str,
    pace: &str,
    code: i32,
    says: &[&str],
) -> String {
    let dir = workspace(scenarios);
    let path = dir.path();
    fs::write(path.join("bot.py"), BOT).unwrap();
    fs::write(path.join("users.json"), r#"{"users": [{persons}]}"#).unwrap();
    let examples = root().join("subjects/examples");
    let toml = format!(
        "[subject.mine]\nkind = 'gateway'\ncommand = ['python3', 'bot.py', '{}', {arguments}]\nidle_s = 2\n{settings}\n\
         env = {{ TELEGRAM_API = '{{bot_api}}', TELEGRAM_TOKEN = '{{token}}', CLAUDE_BIN = '{{claude}}' }}\n",
        examples.display()
    );
    fs::write(path.join("clitape.toml"), toml).unwrap();
    let mut test = vec!["test", "--yes", "--subject", "mine"];
    if pace != "0" {
        test.extend(["--pace", pace]);
    }
    check(path, &test, code, says, &[])
}

/// Checks that all recordings are played and pass.
#[track_caller]
fn check_holds(arguments: &str, settings: &str) {
    if has_program("python3") {
        check_bot(&SHORT, arguments, settings, 0, &["3 scenarios: 3 cassettes", "all held"]);
    }
}

#[test]
fn a_list_of_persons_is_filled_with_those_of_the_run() {
    check_holds("'ids', '{home}/users.json'", "files = { 'home/users.json' = 'users.json' }");
    check_holds("'names', '{usernames}'", "");
}

#[test]
fn a_person_who_is_not_allowed_is_quoted_with_what_the_chat_says() {
    if has_program("python3") {
        let says = "the chat says “Unauthorized. Your chat ID is 7000002.”";
        check_bot(&["plain-text"], "'ids', '1'", "", 3, &["SB026", says, "needs `{persons}`"]);
    }
}

#[test]
fn a_gateway_for_one_chat_is_one_finding_or_gets_one_chat() {
    if !has_program("python3") {
        return;
    }
    let says = [
        "1 finding",
        "`claude` was started for person 7000002 alone",
        "`chats = \"one\"`",
        "`at_once = 1`",
        "the gateway served another person only",
    ];
    let stdout = check_bot(&SHORT, "'one'", "at_once = 1", 3, &says);
    assert_eq!(stdout.matches("SB026 subject-hung").count(), 1, "{stdout}");
    check_holds("'one'", "chats = 'one'");
    check_holds("'ids', '{person}'", "starts = 'each'");
}

#[test]
fn a_command_and_presses_come_before_the_first_prompt() {
    let first = "first = ['/new test', { press = 'Proj' }, { press = '^myrepo$' }]";
    check_holds("'first'", first);
    check_holds("'first'", &format!("chats = 'one'\n{first}"));
}

#[test]
fn a_button_that_never_comes_is_said_with_what_the_chat_says() {
    if has_program("python3") {
        let first = "first = ['/new test', { press = 'Start' }]";
        let says = "no button in the chat matches `Start` of `first`; it says “Where?” [Projects] [Nowhere]";
        check_bot(&["plain-text"], "'first'", first, 3, &["SB026", says]);
    }
}

#[test]
fn the_first_steps_have_the_folders_of_the_run() {
    check_holds("'folder'", "first = ['/open {workspace}']");
    if has_program("python3") {
        let says = "after the steps of `first`, the chat said “No folder /nowhere.”";
        let first = "within_s = 3\nfirst = ['/open /nowhere']";
        check_bot(&["plain-text"], "'folder'", first, 3, &["SB026", says]);
    }
}

#[test]
fn a_gateway_that_asks_claude_things_of_its_own_gets_short_answers() {
    check_holds("'primes'", "own_prompts = true");
    if has_program("python3") {
        let says = "the prompt “Reply with OK alone.” has no marker";
        check_bot(&["plain-text"], "'primes'", "", 3, &["SB026", says]);
    }
}

#[test]
fn a_gateway_for_groups_or_topics_is_written_to_there() {
    check_holds("'group'", "chat = 'group'\nsay = '@{bot} {prompt}'");
    check_holds("'topic'", "chat = 'topic'");
    check_holds("'makes-topic'", "chat = 'topic'\nchats = 'one'\nfirst = ['/open']");
}

#[test]
fn a_message_that_waits_in_the_queue_of_the_gateway_is_no_hang() {
    if has_program("python3") {
        // The last one waits longer than the silence after which a gateway counts as one that has given up.
        let says = ["3 scenarios: 3 cassettes", "all held"];
        check_paced(&SHORT, "'queue'", "", "250", 0, &says);
    }
}

#[test]
fn a_process_that_lives_through_all_recordings_of_a_chat_plays_each_of_them() {
    if !has_program("node") {
        return;
    }
    let dir = workspace(&["plain-text", "three-tools-live", "live-multi-turn"]);
    let toml = format!(
        "[subject.mine]\nkind = 'gateway'\nhost = 'live'\nchats = 'one'\nidle_s = 2\ncommand = ['node', '{}']\n\
         env = {{ TELEGRAM_API = '{{bot_api}}', TELEGRAM_TOKEN = '{{token}}', CLAUDE_BIN = '{{claude}}' }}\n",
        root().join("subjects/examples/telegram.mjs").display()
    );
    fs::write(dir.path().join("clitape.toml"), toml).unwrap();
    check(dir.path(), &["test", "--yes", "--subject", "mine"], 0, &["all held"], &[]);
}

/// A gateway that starts `claude` for each message, and closes its stdin after the answer.
const TURNS: &str = r#"
import json, os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from telegram import call
offset = 0
while True:
    for update in call("getUpdates", offset=offset, timeout=50):
        offset, message = update["update_id"] + 1, update.get("message") or {}
        if "text" not in message: continue
        chat = message["chat"]["id"]
        call("sendChatAction", chat_id=chat, action="typing")
        command = [os.environ["CLAUDE_BIN"], "-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"]
        claude = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        print(json.dumps({"type": "user", "message": {"role": "user", "content": message["text"]}}), file=claude.stdin, flush=True)
        text = []
        for line in claude.stdout:
            record = json.loads(line)
            if record["type"] == "assistant": text += [block["text"] for block in record["message"]["content"] if block["type"] == "text"]
            if record["type"] == "result": break
        claude.stdin.close()
        claude.wait()
        call("sendMessage", chat_id=chat, text="\n\n".join(text))
"#;

/// Makes a workspace with that gateway as a subject and with one scenario.
fn workspace_of_turns(scenario: &str, settings: &str) -> tempfile::TempDir {
    let dir = workspace(&[scenario]);
    fs::write(dir.path().join("bot.py"), TURNS).unwrap();
    let toml = format!(
        "[subject.mine]\nkind = 'gateway'\nhost = 'live'\ncommand = ['python3', 'bot.py', '{}']\nidle_s = 2\n\
         tools_shown = false\nprogress_shown = false\nsessions_resumed = false\n{settings}\n\
         env = {{ TELEGRAM_API = '{{bot_api}}', TELEGRAM_TOKEN = '{{token}}', CLAUDE_BIN = '{{claude}}' }}\n",
        root().join("subjects/examples").display()
    );
    fs::write(dir.path().join("clitape.toml"), toml).unwrap();
    dir
}

#[test]
fn a_promise_to_ask_is_broken_by_a_gateway_whose_claude_asks_nobody() {
    if !has_program("python3") {
        return;
    }
    for scenario in ["ask-user", "permission-allow"] {
        let dir = workspace_of_turns(scenario, "questions_asked = true");
        let says = ["SB018", "starts `claude` without `--permission-prompt-tool`"];
        // The person gives no answer to a question that was not asked.
        let stdout = check(dir.path(), &["test", "--yes", "--subject", "mine"], 3, &says, &[]);
        assert!(!stdout.contains("SB027"), "{stdout}");
    }
}

#[test]
fn a_run_is_not_over_before_the_turn_of_the_last_message() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace_of_turns("live-multi-turn", "");
    let path = dir.path();
    let (_, stdout, stderr) = run(path, &["rig", "--yes", "mine", "live-multi-turn", "--calls"]);
    let messages = stdout.matches("sendMessage #").count();
    assert!(stdout.contains("it came to its end") && messages == 2, "{stdout}{stderr}");
    assert!(!stdout.contains("SB001"), "{stdout}");
}
