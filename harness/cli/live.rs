//! `clitape replay --telegram-api`: sends the chat's calls to a Bot API server, in real time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::bail;
use clitape_gateway::limits::{
    BOT_API_ANSWER, BOT_API_CALL, ChatLimits, FINAL_MESSAGE, FINAL_MESSAGE_WAITS, RETRY_AFTER,
};
use clitape_gateway::telegram::{
    BotApi, BotApiError, BotCall, BotToken, CallFuture, HttpApi, HttpSettings, SignalFuture,
};
use clitape_gateway::{ByteSize, Delivery};
use clitape_process::threads::client_runtime;
use clitape_recording::scenario::Setup;
use clitape_runner::replay::{Capture, Plan, call_entry, live};
use clitape_runner::report::TerminalChat;

use crate::exit::ExitStatus;
use crate::input::secret;
use crate::terminal;

/// The options that select a real chat.
#[derive(clap::Args)]
pub(crate) struct LiveChat {
    /// Send the chat's calls to this Bot API server, such as https://api.telegram.org, in real time
    #[arg(long, value_name = "URL", requires = "chat", conflicts_with_all =
        ["json", "print_plan", "silent", "faults", "seed_faults", "stuck_callback"])]
    telegram_api: Option<String>,
    /// The chat to write to: its number, or @name
    #[arg(long, value_name = "ID", requires = "telegram_api", allow_hyphen_values = true)]
    chat: Option<String>,
    /// The topic of the chat to write to: the `message_thread_id` of its messages
    #[arg(long, value_name = "ID", requires = "telegram_api",
        value_parser = clap::value_parser!(i64).range(1..))]
    topic: Option<i64>,
    /// The message of the chat to which the first message of each turn replies
    #[arg(long, value_name = "ID", requires = "telegram_api",
        value_parser = clap::value_parser!(i64).range(1..))]
    reply_to: Option<i64>,
    /// Environment variable that holds the bot's token
    #[arg(long, value_name = "NAME", default_value = "TELEGRAM_BOT_TOKEN")]
    bot_token_env: String,
    #[command(flatten)]
    limits: LiveLimitArgs,
}

/// The limits for a Bot API server.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct LiveLimitArgs {
    /// The most bytes of an answer of the Bot API server
    #[arg(long, value_name = "SIZE", default_value_t = BOT_API_ANSWER)]
    api_max_answer: ByteSize,
    /// The most seconds of a call of the Bot API server, its answer included
    #[arg(long, value_name = "S", default_value_t = BOT_API_CALL.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    api_timeout: u64,
    /// The most seconds of the final message, its waits included, even if the server asks for a longer wait
    #[arg(long, value_name = "S", default_value_t = FINAL_MESSAGE.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    api_wait: u64,
    /// How often in a row the final message waits because the server asks for it
    #[arg(long, value_name = "N", default_value_t = FINAL_MESSAGE_WAITS)]
    api_waits: u32,
    /// The most seconds of a wait that the server asks for; a longer wait is shortened to this
    #[arg(long, value_name = "S", default_value_t = RETRY_AFTER.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    api_retry_after: u64,
}

impl LiveLimitArgs {
    /// Returns the limits of a chat.
    fn of_chat(&self) -> ChatLimits {
        ChatLimits {
            call: Duration::from_secs(self.api_timeout),
            final_message: Duration::from_secs(self.api_wait),
            waits: self.api_waits,
            retry_after: Duration::from_secs(self.api_retry_after),
        }
    }
}

impl LiveChat {
    /// Returns whether the options name a server.
    pub(crate) fn is_named(&self) -> bool {
        self.telegram_api.is_some()
    }

    /// Returns a client for the chat.
    fn api(&self) -> anyhow::Result<HttpApi> {
        let (Some(server), Some(chat)) = (&self.telegram_api, &self.chat) else {
            bail!("no chat was named; write `--telegram-api URL --chat ID`");
        };
        let name = &self.bot_token_env;
        let token = secret(name, "the bot's token")?;
        let (server, chat) = (server.clone(), chat.clone());
        let token = BotToken::new(token);
        let timeout = self.limits.of_chat().call;
        let (topic, max_answer) = (self.topic, self.limits.api_max_answer);
        Ok(HttpApi::new(HttpSettings { server, token, chat, topic, timeout, max_answer })?)
    }
}

/// Replays a capture into the chat, and draws the chat on the terminal.
pub(crate) fn run(
    chat: &LiveChat,
    capture: Capture<'_>,
    plan: &Plan,
    setup: Setup,
    speed: f64,
) -> anyhow::Result<ExitStatus> {
    let limits = chat.limits.of_chat();
    let api = LiveState {
        api: chat.api()?,
        retry_after: limits.retry_after,
        start: Instant::now(),
        drawn: Mutex::default(),
    };
    let runtime = client_runtime()?;
    let reports =
        runtime.block_on(live(capture, plan, setup, Arc::new(api), speed, limits, chat.reply_to));
    for channel in reports.iter().flat_map(|report| &report.channels) {
        match &channel.final_delivered {
            Delivery::Failed { reason } => {
                terminal::note(format_args!("the final message did not arrive: {reason}"));
                return Ok(ExitStatus::Findings);
            }
            Delivery::ByTool => terminal::note("the agent's own tool sent the message"),
            _ => {}
        }
    }
    Ok(ExitStatus::Ok)
}

/// Sends calls to the server, and draws the chat that results.
struct LiveState {
    api: HttpApi,
    /// The longest wait that the server can ask for.
    retry_after: Duration,
    start: Instant,
    drawn: Mutex<TerminalChat>,
}

impl BotApi for LiveState {
    fn typing(&self) -> SignalFuture<'_> {
        self.api.typing()
    }

    fn call(&self, call: BotCall) -> CallFuture<'_> {
        Box::pin(async move {
            let kind = call.method.as_str();
            let sent = self.api.call(call.clone()).await.inspect_err(|error| {
                terminal::note(format_args!("{kind}: {error}"));
                if let BotApiError::RetryAfter { seconds } = error
                    && Duration::from_secs(*seconds) > self.retry_after
                {
                    let most = self.retry_after.as_secs();
                    terminal::note(format_args!(
                        "{kind}: it counts as {most} s, the most that `--api-retry-after` allows"
                    ));
                }
            })?;
            let entry = call_entry(self.start.elapsed(), &call, sent.message_id);
            let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
            if drawn.apply(&entry) {
                let mut out = terminal::stdout();
                // An error means that stdout can't be written to; the chat still gets its calls.
                let _ = drawn.draw(&mut out.screen(), entry.at);
            }
            Ok(sent)
        })
    }
}
