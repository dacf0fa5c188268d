//! `clitape chat-server`: a Bot API server on this machine that misbehaves as the real one does.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clitape_gateway::ByteSize;
use clitape_recording::files;
use clitape_rig::chat_server::{
    ChatServer, ChatServerSettings, PaceLimits, PersonScript, SCRIPT_CHAT,
};
use clitape_rig::limits::{ChatServerLimits, KeptBytes};

use crate::conditions::ChatFaultArgs;
use crate::exit::ExitStatus;
use crate::input::named;
use crate::rig_limits::{ChatLimitArgs, KeptLimit};
use crate::signals::stop_in_time;
use crate::terminal;

/// The interval at which new lines of the log are printed.
const PRINT: Duration = Duration::from_millis(100);

/// Serves Telegram's Bot API on this machine, with its limits and with faults, for any bot
///
/// Give the bot the printed URL in place of https://api.telegram.org, and the printed token. Open the URL in a
/// browser to see the chats and to write as a person.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The address to listen on; 127.0.0.1 or ::1
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// The bot's token [default: a random one]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// The bot's name in mentions, without @
    #[arg(long, value_name = "NAME")]
    bot_name: Option<String>,
    /// Milliseconds that a call takes
    #[arg(long, value_name = "MS", default_value_t = 40,
        value_parser = clap::value_parser!(u64).range(..=60_000))]
    latency: u64,
    /// Milliseconds in which the bot may answer a press; a later answer is refused as too old
    #[arg(long, value_name = "MS", default_value_t = 60_000,
        value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    press_time: u64,
    /// How often the bot may write: telegram, strict (no bursts) or none
    #[arg(long, value_name = "WHICH", default_value_t = PaceLimits::Telegram)]
    limits: PaceLimits,
    #[command(flatten)]
    faults: ChatFaultArgs,
    /// A chat that is there before the person writes; a negative number is a group's
    #[arg(long, value_name = "N", default_values_t = [SCRIPT_CHAT], allow_negative_numbers = true)]
    chat: Vec<i64>,
    /// Let private chats have topics
    #[arg(long)]
    topics: bool,
    /// What a person does once the bot is connected: a TOML file of [[step]]; - is standard input
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Print the entries of all chats as JSON lines at the end
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    kept: KeptLimit,
    #[command(flatten)]
    chat_limits: ChatLimitArgs,
    /// Bytes that an act of the person by HTTP may have
    #[arg(long, hide_short_help = true, value_name = "SIZE", help_heading = "Limits",
        default_value_t = ChatServerLimits::DEFAULT.act)]
    max_act: ByteSize,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let script = args.script.as_ref().map(|path| {
        let text = files::read_named_text(named(path))?;
        PersonScript::read(&text).with_context(|| path.display().to_string())
    });
    let (defaults, limits) = (ChatServerSettings::default(), args.chat_limits.limits());
    let settings = ChatServerSettings {
        address: SocketAddr::new(args.host, args.port),
        token: args.token.clone(),
        bot_username: args.bot_name.clone().unwrap_or_else(|| defaults.bot_username.clone()),
        latency: Duration::from_millis(args.latency),
        pace: args.limits,
        faults: args.faults.faults(),
        chats: args.chat.clone(),
        private_topics: args.topics,
        press_time: Duration::from_millis(args.press_time),
        script: script.transpose()?,
        limits: ChatServerLimits { act: args.max_act, ..limits },
        ..defaults
    };
    if args.chat.contains(&0) {
        bail!("a chat has no number 0; write a positive number, or a negative one for a group");
    }
    let address = settings.address;
    let stop = stop_in_time()?;
    let server = ChatServer::start(settings, Arc::new(KeptBytes::within(args.kept.max_kept)))
        .with_context(|| format!("can't serve the Bot API on {address}"))?;
    let (url, token) = (server.url(), server.token());
    let first = args.chat.first().copied().unwrap_or(SCRIPT_CHAT);
    terminal::note(format_args!("Bot API: {url}  token: {token}"));
    if !quiet {
        for line in [
            format!(
                "  give the bot this URL in place of https://api.telegram.org; a call is {url}/bot{token}/METHOD"
            ),
            format!("  see the chats and write as a person: {url}/"),
            format!(
                "  or: curl -H 'Content-Type: application/json' -d '{{\"chat\":{first},\"text\":\"hello\"}}' {url}/person/say"
            ),
            "  Ctrl-C ends it".to_owned(),
        ] {
            terminal::note(line);
        }
    }
    let mut printed = 0;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(PRINT);
        server.check()?;
        let lines = server.log(printed);
        printed += lines.len();
        for line in lines.iter().filter(|_| !quiet) {
            terminal::note(line);
        }
    }
    if args.json {
        let mut out = terminal::stdout();
        for chat in server.chats() {
            for mut entry in server.entries(chat) {
                entry.data_mut().insert("chat".into(), chat.into());
                out.json(&entry.to_line())?;
            }
        }
    }
    server.stop();
    Ok(ExitStatus::Ok)
}
