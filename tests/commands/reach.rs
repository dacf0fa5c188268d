//! Tests of bots with the usual libraries, which have the address of the Bot API in their code, in a private network
//! and by the proxy; and of gateways that ask for other hosts. pip and npm install the libraries once into the target
//! folder. Without Python, npm, Bun, strace or namespaces, its part is left out; it fails instead if `CLITAPE_REQUIRE`
//! names `python3`, `npm` or `strace`.

#![cfg(target_os = "linux")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

use crate::common::{check, has_program, root, run, workspace};
use tempfile::TempDir;

/// The packages of the bots in Python, and of those in JavaScript.
const PYTHON: [&str; 5] = [
    "aiogram==3.31.0",
    "httpx==0.28.1",
    "pyTelegramBotAPI==4.37.1",
    "python-telegram-bot==22.8",
    "requests==2.34.2",
];
const NODE: [&str; 3] = ["grammy@1.46.0", "node-telegram-bot-api@0.66.0", "telegraf@4.16.3"];
const BUN: [&str; 1] = ["bun@1.4.5"];

/// The bots of `subjects/libraries`, each with the program that runs it.
const BOTS: [(&str, &str); 11] = [
    ("python", "aiogram_3.py"),
    ("python", "python_telegram_bot.py"),
    ("python", "pytelegrambotapi.py"),
    ("python", "with_httpx.py"),
    ("python", "with_requests.py"),
    ("python", "with_urllib.py"),
    ("node", "grammy.cjs"),
    ("node", "node_telegram_bot_api.cjs"),
    ("node", "telegraf.cjs"),
    ("node", "with_fetch.cjs"),
    ("bun", "grammy.cjs"),
];
/// The number of bots that are tested at the same time.
const AT_ONCE: usize = 4;

/// The folders of the installed libraries.
struct Libraries {
    folder: PathBuf,
    has: Vec<&'static str>,
}

/// Runs a command; the error is its output.
fn done(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(printed) }
}

/// Installs packages into a folder, unless they are installed: Python's if it is called `python`, else those of npm.
pub(crate) fn installed(folder: &Path, packages: &[&str]) -> Result<(), String> {
    let made = folder.join("made");
    if fs::read_to_string(&made).is_ok_and(|made| made == packages.join(" ")) {
        return Ok(());
    }
    // A part of an earlier installation may be left.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    if folder.ends_with("python") {
        done(Command::new("python3").args(["-m", "venv", "."]).current_dir(folder))?;
        let pip = ["install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
        done(Command::new(folder.join("bin/pip")).args(pip).args(packages).current_dir(folder))?;
    } else {
        fs::write(folder.join("package.json"), r#"{"private":true}"#).unwrap();
        let npm = ["install", "--no-audit", "--no-fund", "--loglevel", "error"];
        done(Command::new("npm").args(npm).args(packages).current_dir(folder))?;
    }
    fs::write(made, packages.join(" ")).map_err(|error| error.to_string())
}

fn libraries() -> &'static Libraries {
    static LIBRARIES: OnceLock<Libraries> = OnceLock::new();
    LIBRARIES.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libraries");
        let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
        let install = |tool: &'static str, name: &'static str, packages: &[&str]| {
            let result = match has_program(tool) {
                true => installed(&folder.join(name), packages),
                false => Err(format!("there is no {tool}")),
            };
            let is_demanded = name != "bun" && required.split([',', ' ']).any(|it| it == tool);
            match result {
                Ok(()) => Some(name),
                Err(why) if is_demanded => panic!("{name}: {why}"),
                Err(why) => {
                    println!("the bots of {name} are left out: {why}");
                    None
                }
            }
        };
        let has = std::thread::scope(|scope| {
            let python = scope.spawn(|| install("python3", "python", &PYTHON));
            let node = [install("npm", "node", &NODE), install("npm", "bun", &BUN)];
            [node[0], node[1], python.join().unwrap()].into_iter().flatten().collect()
        });
        Libraries { folder, has }
    })
}

/// Returns the ways that this system supports.
fn ways() -> Vec<&'static str> {
    let unshare = ["--user", "--map-root-user", "--net", "--mount", "true"];
    let has_namespaces = done(Command::new("unshare").args(unshare)).is_ok();
    if has_namespaces { vec!["sandbox", "proxy"] } else { vec!["proxy"] }
}

/// Returns the settings of a gateway with this command.
fn subject(name: &str, way: &str, command: &[&str], modules: &Path) -> String {
    let command: Vec<String> = command.iter().map(|word| format!("'{word}'")).collect();
    format!(
        "[subject.{name}]\nkind = 'gateway'\nreach = '{way}'\nidle_s = 1\nready = {{ within_s = 300 }}\ncommand = [{}]\n\
         env = {{ TELEGRAM_TOKEN = '{{token}}', CLAUDE_BIN = '{{claude}}', NODE_PATH = '{}' }}\n",
        command.join(", "),
        modules.display()
    )
}

#[test]
fn a_bot_with_each_library_is_tested_as_it_is() {
    let Libraries { folder, has } = libraries();
    let modules = folder.join("node/node_modules");
    let mut settings = String::new();
    let mut names = VecDeque::new();
    for way in ways() {
        for (runner, file) in BOTS.iter().filter(|(runner, _)| has.contains(runner)) {
            let program = match *runner {
                "python" => folder.join("python/bin/python"),
                "bun" => folder.join("bun/node_modules/.bin/bun"),
                _ => PathBuf::from("node"),
            };
            let bot = root().join("subjects/libraries").join(file);
            let (stem, _) = file.split_once('.').unwrap();
            let name = format!("{runner}-{}-{way}", stem.replace('_', "-"));
            let command = [program.to_str().unwrap(), bot.to_str().unwrap()];
            settings += &subject(&name, way, &command, &modules);
            names.push_back(name);
        }
    }
    let dir = workspace(&["plain-text"]);
    fs::write(dir.path().join("clitape.toml"), settings).unwrap();
    let (names, wrong) = (Mutex::new(names), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(name) = names.lock().unwrap().pop_front() else { return };
                    let test = ["test", "--yes", "--subject", &name, "plain-text"];
                    let (code, out, err) = run(dir.path(), &test);
                    if code != 0
                        || !out.contains("all held")
                        || [&out, &err].iter().any(|it| it.contains("refused"))
                    {
                        wrong.lock().unwrap().push(format!("{name}: {code}\n{out}{err}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} bots:\n{}", wrong.len(), wrong.join("\n"));
}

/// A bot that asks for other hosts at its start, by name and by address, with and without the proxy, and goes on.
const CURIOUS: &str = r#"
import socket, sys, urllib.request
sys.path.insert(0, sys.argv[1])

def tried(ask, *arguments):
    try:
        ask(*arguments)
    except OSError:
        return
    sys.exit(f"{arguments} was reached")

plain = urllib.request.build_opener(urllib.request.ProxyHandler({}))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
tried(urllib.request.urlopen, "https://pypi.org/", None, 20)
tried(plain.open, "http://pypi.org/", None, 20)
tried(socket.gethostbyname, "telemetry.example")
tried(socket.create_connection, ("192.0.2.1", 443), 20)
tried(socket.create_connection, ("192.0.2.1", 80), 20)
tried(udp.sendto, b"x", ("192.0.2.1", 53))
import with_urllib
"#;

/// The same bot in JavaScript.
const CURIOUS_NODE: &str = r#"
const net = require('node:net'), dns = require('node:dns').promises, dgram = require('node:dgram');
const reached = (what) => { console.error(`${what} was reached`); process.exit(1); };
const tried = (what, promise) => promise.then(() => reached(what), () => {});
const connected = (host, port) => new Promise((done, failed) => {
  net.connect(port, host, done).on('error', failed).setTimeout(20000, failed);
});
const sent = (host) => new Promise((done, failed) => {
  dgram.createSocket('udp4').on('error', failed).send('x', 53, host, (error) => (error ? failed(error) : done()));
});
(async () => {
  await tried('pypi.org', fetch('https://pypi.org/'));
  await tried('pypi.org', connected('pypi.org', 80));
  await tried('telemetry.example', dns.resolve4('telemetry.example'));
  await tried('192.0.2.1', connected('192.0.2.1', 443));
  await tried('192.0.2.1', sent('192.0.2.1'));
  require(`${process.argv[2]}/with_fetch.cjs`);
})();
"#;

/// Makes a workspace with both bots in a way.
fn curious(way: &str) -> TempDir {
    let dir = workspace(&["plain-text"]);
    let bots = root().join("subjects/libraries");
    let mut settings = String::new();
    for (name, program, text) in
        [("python", "python3", CURIOUS), ("javascript", "node", CURIOUS_NODE)]
    {
        let script = dir.path().join(name);
        fs::write(&script, text).unwrap();
        let command = [program, script.to_str().unwrap(), bots.to_str().unwrap()];
        settings += &subject(name, way, &command, Path::new("/nowhere"));
    }
    fs::write(dir.path().join("clitape.toml"), settings).unwrap();
    dir
}

#[test]
fn hosts_that_a_gateway_asked_for_and_did_not_get_are_reported() {
    for way in ways() {
        let dir = curious(way);
        for (name, program) in [("python", "python3"), ("javascript", "node")] {
            if !has_program(program) {
                continue;
            }
            let reach = format!("(reach = \"{way}\")");
            let mut says =
                vec![&*reach, "is answered in", "it asked for pypi.org", "telemetry.example"];
            if way == "proxy" {
                // In a private network, no server sees that an address was asked for.
                says.push("it asked for 192.0.2.1");
            }
            check(dir.path(), &["subject", "check", "--yes", name], 0, &says, &[]);
        }
    }
}

/// Returns the calls of a trace that sent data to another machine: `connect` and the like that succeeded with an
/// address outside loopback.
fn sent_out(trace: &str) -> Vec<&str> {
    let is_call = |line: &&str| {
        ["connect(", "sendto(", "sendmsg(", "sendmmsg("].iter().any(|call| line.contains(call))
    };
    let is_foreign = |line: &&str| {
        let address = |key: &str| {
            let address = line.split(key).nth(1)?.split('"').nth(1)?;
            address.parse::<std::net::IpAddr>().ok()
        };
        let addresses = [address("sin_addr=inet_addr("), address("inet_pton(AF_INET6, ")];
        addresses.into_iter().flatten().any(|address| !address.is_loopback())
    };
    let has_failed = |line: &&str| {
        line.rsplit_once(" = ")
            .is_some_and(|(_, result)| result.starts_with("-1") && !result.contains("EINPROGRESS"))
    };
    trace.lines().filter(is_call).filter(is_foreign).filter(|line| !has_failed(line)).collect()
}

#[test]
fn no_gateway_reaches_another_host() {
    let calls = [
        r#"1 connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16) = 0"#,
        r#"1 connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 EINPROGRESS (Operation now in progress)"#,
        r#"1 connect(3, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, 28) = 0"#,
        r#"1 sendto(3, "x", 1, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.1")}, 16) = 1"#,
    ];
    assert_eq!(sent_out(&calls.join("\n")), calls);
    if !["python3", "strace"].map(has_program).contains(&false) {
        for way in ways() {
            let dir = curious(way);
            let trace = dir.path().join("trace");
            let mut strace = Command::new("strace");
            strace.args(["-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o"]);
            strace.arg(&trace).arg(env!("CARGO_BIN_EXE_clitape")).current_dir(dir.path());
            strace.args(["test", "--yes", "--subject", "python", "plain-text"]);
            strace.env("NO_COLOR", "1").env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
            let output = strace.stdin(Stdio::null()).output().unwrap();
            let out = String::from_utf8_lossy(&output.stdout);
            assert!(out.contains("all held"), "{way}: {out}{output:?}");
            let trace = fs::read_to_string(trace).unwrap();
            assert!(trace.contains("127.0.0.1"), "{way}: nothing was traced");
            assert_eq!(sent_out(&trace), [""; 0], "{way}");
        }
    }
}

/// A bot with a webhook on a port, which reports at another path that it is ready.
const WEBHOOK: &str = r#"
import http.server, json, subprocess, sys, urllib.request
token, port = sys.argv[1], int(sys.argv[2])

def call(method, **values):
    url = f"https://api.telegram.org/bot{token}/{method}"
    request = urllib.request.Request(url, json.dumps(values).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=30))["result"]

class Hook(http.server.BaseHTTPRequestHandler):
    def done(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_GET = done
    def do_POST(self):
        update = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.done()
        message = update["message"]
        run = subprocess.run(["claude", "-p", message["text"], "--output-format", "json"], capture_output=True)
        call("sendMessage", chat_id=message["chat"]["id"], text=json.loads(run.stdout)["result"])
    def log_message(self, *_): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Hook)
call("setWebhook", url=f"http://127.0.0.1:{port}/hook")
server.serve_forever()
"#;

#[test]
fn what_a_gateway_serves_is_reached_in_its_network() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace(&["plain-text"]);
    fs::write(dir.path().join("bot.py"), WEBHOOK).unwrap();
    let mut settings = String::new();
    for way in ways() {
        settings += &format!(
            "[subject.{way}]\nkind = 'gateway'\nreach = '{way}'\nidle_s = 1\n\
             ready = {{ url = 'http://127.0.0.1:{{port}}/health' }}\n\
             command = ['python3', 'bot.py', '{{token}}', '{{port}}']\n"
        );
    }
    fs::write(dir.path().join("clitape.toml"), settings).unwrap();
    for way in ways() {
        let says = [&*format!("(reach = \"{way}\")"), "is answered in"];
        check(dir.path(), &["subject", "check", "--yes", way], 0, &says, &[]);
    }
}

#[test]
fn without_namespaces_the_proxy_is_taken() {
    // A sandbox whose programs can't make further namespaces.
    let bwrap = ["--unshare-user", "--disable-userns", "--dev-bind", "/", "/"];
    let has_bwrap = done(Command::new("bwrap").args(bwrap).arg("true")).is_ok();
    if !has_bwrap || !has_program("python3") {
        return;
    }
    let dir = workspace(&["plain-text"]);
    let bot = root().join("subjects/libraries/with_urllib.py");
    let command = ["python3", bot.to_str().unwrap()];
    let nowhere = Path::new("/nowhere");
    let chosen = subject("mine", "proxy", &command, nowhere).replace("reach = 'proxy'\n", "");
    let settings = chosen + &subject("named", "sandbox", &command, nowhere);
    fs::write(dir.path().join("clitape.toml"), settings).unwrap();
    for (name, code, says) in
        [("mine", 0, "(reach = \"proxy\")"), ("named", 2, "`reach = \"sandbox\"` can't be used")]
    {
        let mut command = Command::new("bwrap");
        command.args(bwrap).arg(env!("CARGO_BIN_EXE_clitape")).current_dir(dir.path());
        command.args(["subject", "check", "--yes", name]).env("NO_COLOR", "1");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(printed.contains(says), "{name}: no `{says}` in\n{printed}");
        assert_eq!(output.status.code(), Some(code), "{name}: {printed}");
    }
}
