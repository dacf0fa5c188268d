//! Makes secrets from the shapes of their kinds, and a recording with them in every place.
//!
//! The kinds are a separate table, which is independent of the sanitiser's rules.

pub(crate) mod page;

use std::collections::HashSet;

use clitape_recording::cassette::Take;
use rand::rngs::ChaCha8Rng;
use rand::{Rng as _, SeedableRng as _};
use serde::Deserialize;
use serde_json::{Value, json};

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";

/// A kind: its name, the text before the secret, its prefix, the alphabet and the length of the rest, and the text
/// behind it.
type Kind = (&'static str, &'static str, &'static str, &'static str, usize, &'static str);

const KINDS: [Kind; 85] = [
    ("openai", "", "sk-proj-", URL, 48, ""),
    ("anthropic", "", "sk-ant-api03-", URL, 80, ""),
    ("openrouter", "", "sk-or-v1-", HEX, 64, ""),
    ("github", "", "ghp_", ALNUM, 36, ""),
    ("github-fine", "", "github_pat_", ALNUM, 60, ""),
    ("gitlab", "", "glpat-", URL, 20, ""),
    ("gitlab-runner", "", "GR1348941", URL, 20, ""),
    ("slack-bot", "", "xoxb-", ALNUM, 40, ""),
    ("slack-app", "", "xapp-1-", ALNUM, 50, ""),
    ("stripe", "", "sk_live_", ALNUM, 24, ""),
    ("stripe-hook", "", "whsec_", ALNUM, 32, ""),
    ("aws", "", "AKIA", UPPER, 16, ""),
    ("google", "", "AIza", URL, 35, ""),
    ("google-client", "", "GOCSPX-", URL, 28, ""),
    ("google-access", "", "ya29.", URL, 60, ""),
    ("npm", "", "npm_", ALNUM, 36, ""),
    ("hugging-face", "", "hf_", ALNUM, 34, ""),
    ("pypi", "", "pypi-AgEIcHlwaS5vcmc", URL, 80, ""),
    ("sendgrid", "", "SG.", URL, 60, ""),
    ("twilio", "", "SK", HEX, 32, ""),
    ("brevo", "", "xkeysib-", HEX, 64, ""),
    ("mailgun", "", "key-", HEX, 32, ""),
    ("databricks", "", "dapi", HEX, 32, ""),
    ("notion", "", "secret_", ALNUM, 43, ""),
    ("figma", "", "figd_", URL, 40, ""),
    ("atlassian", "", "ATATT3xFfGF0", URL, 100, ""),
    ("bitbucket", "", "ATBB", ALNUM, 32, ""),
    ("nvidia", "", "nvapi-", URL, 64, ""),
    ("pinecone", "", "pcsk_", ALNUM, 60, ""),
    ("tailscale", "", "tskey-auth-", ALNUM, 40, ""),
    ("sentry", "", "sntrys_", ALNUM, 80, ""),
    ("doppler", "", "dp.pt.", ALNUM, 43, ""),
    ("langsmith", "", "lsv2_pt_", HEX, 40, ""),
    ("fireworks", "", "fw_", ALNUM, 24, ""),
    ("cerebras", "", "csk-", LOWER, 48, ""),
    ("voyage", "", "pa-", URL, 43, ""),
    ("elevenlabs", "", "sk_", HEX, 48, ""),
    ("planetscale", "", "pscale_tkn_", URL, 43, ""),
    ("supabase", "", "sb_secret_", ALNUM, 31, ""),
    ("buildkite", "", "bkua_", HEX, 40, ""),
    ("circleci", "", "CCIPAT_", ALNUM, 60, ""),
    ("rubygems", "", "rubygems_", HEX, 48, ""),
    ("nuget", "", "oy2", LOWER, 43, ""),
    ("crates", "", "cio", ALNUM, 32, ""),
    ("dropbox", "", "sl.", URL, 100, ""),
    ("sonar", "", "squ_", HEX, 40, ""),
    ("netlify", "", "nfp_", ALNUM, 40, ""),
    ("1password", "", "ops_eyJ", ALNUM, 120, ""),
    ("terraform", "AbCdEfGh123456.atlasv1.", "", URL, 60, ""),
    ("square", "", "EAAA", URL, 60, ""),
    ("telegram", "", "123456789:", URL, 35, ""),
    ("jwt", "", "eyJhbGciOiJIUzI1NiJ9.eyJz", URL, 60, ""),
    ("url", "postgres://app:", "", ALNUM, 20, "@db/x"),
    ("assignment", "export DB_PASSWORD=", "", ALNUM, 16, ""),
    ("bearer", "Authorization: Bearer ", "", ALNUM, 40, ""),
    ("cookie", "Cookie: sid=", "", ALNUM, 32, ""),
    ("curl-cookie", "curl -b 'sid=", "", ALNUM, 24, "' u"),
    ("bcrypt", "me:$2y$10$", "", ALNUM, 53, ":x"),
    ("crypt", "root:$6$", "", ALNUM, 86, ":1"),
    ("zapier", "https://hooks.zapier.com/hooks/catch/", "", ALNUM, 24, "/"),
    ("mailchimp", "", "", HEX, 32, "-us12"),
    ("go-dsn", "app:", "", ALNUM, 20, "@tcp(db:3306)/x"),
    ("sudo", "echo ", "", ALNUM, 16, " | sudo -S id"),
    ("deepseek", "", "sk-", HEX, 32, ""),
    ("groq", "", "gsk_", ALNUM, 52, ""),
    ("grafana", "", "glsa_", ALNUM, 41, ""),
    ("dynatrace", "", "dt0c01.", UPPER, 64, ""),
    ("pulumi", "", "pul-", HEX, 40, ""),
    ("hubspot", "", "pat-na1-", HEX, 36, ""),
    ("airtable", "", "patAbCdEfGhIjKlMn.", HEX, 64, ""),
    ("launchdarkly", "", "sdk-0a1b2c3d-0000-4000-8000-", HEX, 12, ""),
    ("new-relic", "", "", LOWER, 36, "NRAL"),
    ("age", "", "AGE-SECRET-KEY-1", UPPER, 58, ""),
    ("feishu", "https://open.feishu.cn/open-apis/bot/v2/hook/", "", HEX, 32, ""),
    ("okta", "Authorization: SSWS ", "00", URL, 40, ""),
    ("psk", "psk=\"", "", ALNUM, 20, "\""),
    ("openssl", "openssl enc -aes-256-cbc -k ", "", ALNUM, 16, " -in a"),
    ("kubectl", "kubectl create secret generic db --from-literal=pw=", "", ALNUM, 16, " -n x"),
    ("vault", "vault kv put secret/app value=", "", ALNUM, 16, ""),
    ("rails", "secret_key_base: ", "", HEX, 128, ""),
    ("htpasswd", "htpasswd -nb me ", "", ALNUM, 16, ""),
    ("smb", "smbclient //s/d -U bob%", "", ALNUM, 16, ""),
    ("identified", "CREATE USER me IDENTIFIED BY '", "", ALNUM, 16, "'"),
    ("sentence", "The password is ", "", HEX, 20, ""),
    ("mcp", "{\"env\":{\"STRIPE_KEY\":\"", "", ALNUM, 24, "\"}}"),
];

/// The number of places in a recording.
const PLACES: usize = 20;
/// The number of places in which the secrets of each kind are planted.
const EACH: usize = 7;

/// A secret, the text around it, and the place in which it is planted.
#[derive(Debug, Clone)]
pub(crate) struct Planted {
    pub(crate) kind: &'static str,
    pub(crate) secret: String,
    pub(crate) text: String,
    pub(crate) place: usize,
}

/// A generator with raw draws, which gives the same secrets on every machine.
pub(crate) struct Draws(ChaCha8Rng);

impl Draws {
    pub(crate) fn of(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from((u64::from(self.0.next_u32()) * n as u64) >> 32).expect("it is below n")
    }

    /// Draws a word of letters and digits, like one of a password generator.
    pub(crate) fn word(&mut self) -> String {
        self.text(ALNUM, 10) + &self.text(DIGITS, 2) + &self.text(ALNUM, 8)
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet = alphabet.as_bytes();
        let one = |_| char::from(alphabet[self.below(alphabet.len())]);
        (0..length).map(one).collect()
    }
}

/// A place in a file in which a secret may be, from `places.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    pub(crate) about: String,
    /// The text around the place, which is written `⟦⟧`.
    text: String,
    /// The values that ordinary files have there.
    pub(crate) ordinary: Vec<String>,
    /// The value with the secret in it, if the value is more than the secret.
    #[serde(default = "secret_itself")]
    real: String,
    /// True if a secret needs quotes there.
    #[serde(default)]
    quote: bool,
}

fn secret_itself() -> String {
    "⟦⟧".to_owned()
}

/// Reads the places of `places.toml`.
pub(crate) fn places() -> Vec<Place> {
    #[derive(Deserialize)]
    struct Places {
        place: Vec<Place>,
    }
    toml::from_str::<Places>(include_str!("places.toml")).expect("the table is valid").place
}

impl Place {
    /// Returns the text with `value` in the place.
    pub(crate) fn text(&self, value: &str) -> String {
        self.text.replace("⟦⟧", value)
    }

    /// Returns the text with `secret` in the place.
    pub(crate) fn text_with(&self, secret: &str) -> String {
        let value = self.real.replace("⟦⟧", secret);
        self.text(&if self.quote { format!("\"{value}\"") } else { value })
    }
}

/// Makes secrets of all kinds, which together are in every place.
pub(crate) fn planted(draws: &mut Draws) -> Vec<Planted> {
    let mut all = Vec::new();
    for (at, (kind, before, prefix, alphabet, length, behind)) in KINDS.into_iter().enumerate() {
        for turn in 0..EACH {
            // A token does not end with a dash if a sentence goes on.
            let last = if alphabet == URL { ALNUM } else { alphabet };
            let (body, last) = (draws.text(alphabet, length - 1), draws.text(last, 1));
            let secret = format!("{prefix}{body}{last}");
            let text = format!("see {before}{secret}{behind} there");
            let place = (at + turn * 3) % PLACES;
            all.push(Planted { kind, secret, text, place });
        }
    }
    all
}

/// Cuts `text` into pieces at random.
fn pieces<'t>(draws: &mut Draws, text: &'t str) -> Vec<&'t str> {
    let (mut rest, mut pieces) = (text, Vec::new());
    while !rest.is_empty() {
        let (piece, more) = rest.split_at((1 + draws.below(9)).min(rest.len()));
        pieces.push(piece);
        rest = more;
    }
    pieces
}

/// The lines of a stream.
#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    fn add(&mut self, record: &Value) {
        self.0.push(record.to_string());
    }

    fn event(&mut self, event: &Value) {
        self.add(&json!({"type": "stream_event", "event": event, "session_id": "s", "parent_tool_use_id": null}));
    }

    /// Adds a block that comes in these deltas.
    fn block(&mut self, index: usize, start: &Value, field: &str, deltas: &[&str]) {
        let kind = match field {
            "partial_json" => "input_json_delta",
            "thinking" => "thinking_delta",
            _ => "text_delta",
        };
        self.event(&json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            let delta = json!({"type": kind, field: delta});
            self.event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        self.event(&json!({"type": "content_block_stop", "index": index}));
    }
}

/// Makes a capture of stdout with the secrets of its places, in the form that the CLI prints.
pub(crate) fn capture(draws: &mut Draws, planted: &[Planted]) -> Vec<u8> {
    let mut lines = Lines::default();
    lines.add(
        &json!({"type": "system", "subtype": "init", "cwd": "/home/ada/work", "session_id": "s",
        "claude_code_version": "2.1.0", "notes": texts(planted, 9)}),
    );
    lines.event(&json!({"type": "message_start", "message": {"id": "m1", "role": "assistant", "content": []}}));
    for (index, Planted { text, place, .. }) in planted.iter().enumerate() {
        let id = format!("toolu_{index}");
        let nested = json!({"inner": json!({"deep": text}).to_string()}).to_string();
        let input = json!({"command": text}).to_string();
        let result = |content: Value, more: Value| {
            let block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
            json!({"type": "user", "message": {"role": "user", "content": [block]}, "tool_use_result": more})
        };
        match place {
            0 => lines.add(&json!({"type": "user", "message": {"role": "user", "content": text}})),
            1 => lines.block(index, &json!({"type": "text", "text": ""}), "text", &[text]),
            2 => {
                let cut = pieces(draws, text);
                lines.block(index, &json!({"type": "text", "text": ""}), "text", &cut);
            }
            3 => {
                let cut = pieces(draws, text);
                lines.block(index, &json!({"type": "thinking", "thinking": ""}), "thinking", &cut);
            }
            4 => lines.add(
                &json!({"type": "assistant", "message": {"id": format!("a{index}"), "content": [
                {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": text}}]}}),
            ),
            5 => {
                let start = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
                let cut = pieces(draws, &input);
                lines.block(index, &start, "partial_json", &cut);
            }
            6 => lines.add(&result(json!(text), json!(null))),
            7 => lines.add(&result(json!([{"type": "text", "text": text}]), json!(null))),
            8 => lines.add(&result(json!("ok"), json!({"stdout": text, "stderr": ""}))),
            10 => lines.add(&json!({"type": "holo", "deep": [{"a": [text]}]})),
            16 => {
                let escaped: String =
                    text.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
                lines.0.push(format!(r#"{{"type":"holo","escaped":"{escaped}"}}"#));
            }
            17 => lines.add(&json!({"type": "holo", "raw": nested})),
            18 => lines.add(&json!({"type": "holo", "keys": {text.clone(): 1}})),
            19 => lines.0.push(format!("no json: {text}")),
            _ => {}
        }
    }
    lines.event(&json!({"type": "message_stop"}));
    lines
        .add(&json!({"type": "result", "subtype": "success", "is_error": false, "session_id": "s",
        "result": texts(planted, 11).join("\n")}));
    (lines.0.join("\n") + "\n").into_bytes()
}

/// Adds the secrets of the places outside of captures: the other files and the command line.
pub(crate) fn plant(take: &mut Take, planted: &[Planted]) {
    take.stderr = (texts(planted, 12).join("\n") + "\n").into_bytes();
    take.stdin =
        lines_of(planted, 13, &|text| json!({"type": "user", "message": {"content": text}}));
    take.manifest.cli.argv =
        vec!["claude".to_owned(), "-p".to_owned(), texts(planted, 14).join("\n")];
    take.transcript = lines_of(
        planted,
        15,
        &|text| json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}),
    );
}

fn texts(planted: &[Planted], place: usize) -> Vec<String> {
    let there = planted.iter().filter(|planted| planted.place == place);
    there.map(|planted| planted.text.clone()).collect()
}

fn lines_of(planted: &[Planted], place: usize, record: &dyn Fn(&str) -> Value) -> Vec<u8> {
    let lines = texts(planted, place).into_iter().map(|text| record(&text).to_string() + "\n");
    lines.collect::<String>().into_bytes()
}

/// Returns the secrets of which `text` shows twelve consecutive characters.
pub(crate) fn shown<'p>(planted: &'p [Planted], text: &str) -> Vec<&'p Planted> {
    const ROW: usize = 12;
    let rows: HashSet<&[u8]> = text.as_bytes().windows(ROW).collect();
    let is_shown = |planted: &&Planted| {
        let end = planted.secret.len();
        let last = &planted.secret.as_bytes()[end.saturating_sub(2 * ROW)..];
        last.windows(ROW).any(|row| rows.contains(row))
    };
    planted.iter().filter(is_shown).collect()
}
