//! `clitape replay --telegram-api`: the chat's calls go to a Bot API server, in real time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::bail;
use clitape_gateway::Delivery;
use clitape_gateway::limits::BOT_API_CALL;
use clitape_gateway::telegram::{Answer, BotApi, Call, HttpApi, HttpSettings, Signal, Token};
use clitape_runner::replay::{Entry, Lane, Plan, Setup, live};
use clitape_runner::report::Screen;
use serde_json::{Map, Value};

use crate::exit::Exit;
use crate::secret::secret;
use crate::terminal;

/// The chat that is written to.
#[derive(clap::Args)]
pub(crate) struct Chat {
    /// Send the chat's calls to this Bot API server, such as https://api.telegram.org, in real time;
    /// of an answer 1 MiB is read in 15 s, and the last word waits 10 times and 300 s in all at
    /// most, however long the server asks to wait
    #[arg(long, value_name = "URL", requires = "chat", conflicts_with_all = ["json", "print_plan", "silent"])]
    telegram_api: Option<String>,
    /// The chat to write to: its number, or @name
    #[arg(long, value_name = "ID", requires = "telegram_api", allow_hyphen_values = true)]
    chat: Option<String>,
    /// Environment variable that holds the bot's token
    #[arg(long, value_name = "NAME", default_value = "TELEGRAM_BOT_TOKEN")]
    bot_token_env: String,
}

impl Chat {
    /// Whether a server was named.
    pub(crate) fn is_named(&self) -> bool {
        self.telegram_api.is_some()
    }

    /// A client for the chat, if a server was named.
    fn api(&self) -> anyhow::Result<HttpApi> {
        let (Some(server), Some(chat)) = (&self.telegram_api, &self.chat) else {
            bail!("no chat was named; write `--telegram-api URL --chat ID`");
        };
        let name = &self.bot_token_env;
        let token = secret(name, "the bot's token")?;
        let (server, chat) = (server.clone(), chat.clone());
        let token = Token::new(token);
        Ok(HttpApi::new(HttpSettings { server, token, chat, timeout: BOT_API_CALL })?)
    }
}

/// Plays the bytes into the chat, and draws here what it shows there.
pub(crate) fn run(
    chat: &Chat,
    stdout: &[u8],
    plan: &Plan,
    setup: Setup,
    speed: f64,
) -> anyhow::Result<Exit> {
    let api = Shown { api: chat.api()?, began: Instant::now(), screen: Mutex::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(live(stdout, plan, setup, Arc::new(api), speed));
    for channel in &report.channels {
        match &channel.final_delivered {
            Delivery::Failed { reason } => {
                terminal::note(format_args!("the last word did not arrive: {reason}"));
                return Ok(Exit::Findings);
            }
            Delivery::ByTool => terminal::note("the agent's own tool sent the message"),
            _ => {}
        }
    }
    Ok(Exit::Ok)
}

/// Passes calls on, and draws what they make of the chat.
struct Shown {
    api: HttpApi,
    began: Instant,
    screen: Mutex<Screen>,
}

impl BotApi for Shown {
    fn typing(&self) -> Signal<'_> {
        self.api.typing()
    }

    fn call(&self, call: Call) -> Answer<'_> {
        Box::pin(async move {
            let (kind, text) = (call.method.as_str(), call.text.clone());
            let sent = self.api.call(call).await.inspect_err(|error| {
                terminal::note(format_args!("{kind}: {error}"));
            })?;
            let mut data = Map::new();
            data.insert("message_id".to_owned(), sent.message_id.into());
            data.insert("text".to_owned(), Value::String(text));
            let at = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let entry = Entry { at, lane: Lane::Telegram, kind: kind.into(), data };
            let mut screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
            if screen.apply(&entry) {
                let mut out = terminal::stdout();
                // Nobody watches: the chat itself still gets its calls.
                let _ = screen.draw(out.styled(), at);
            }
            Ok(sent)
        })
    }
}
