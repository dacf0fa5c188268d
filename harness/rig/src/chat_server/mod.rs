//! The Bot API on loopback, with the limits and the faults of the field.
//!
//! [`ChatServer::start`] starts a server for one bot. The bot is given the server's address in place of
//! `https://api.telegram.org`, and the token. A person's acts are calls of this library ([`ChatServer::say`],
//! [`ChatServer::press`]), requests by HTTP, or the steps of a [`PersonScript`]. What happened in a chat are
//! the entries of a trace ([`ChatServer::entries`]).
//!
//! | module | what it has |
//! |---|---|
//! | `api`, `messages`, `other_methods`, `topics` | the methods, as a table |
//! | `call` | one call: its latency, its fault, its entry |
//! | `markup` | HTML and Markdown as Telegram reads them, with its errors |
//! | `pace`, `faults` | how often a bot may write, and what goes wrong |
//! | `updates`, `webhook` | what the bot is told |
//! | `person`, `posted`, `script`, `script_file` | what a person does |
//! | `connections`, `guard` | which connections are open, and which requests are refused |
//! | `http`, `response`, `page` | the paths of the server, and its page |
//! | `settings`, `token` | how it is set up |
//! | `state`, `chat`, `shared`, `words` | what it knows, and how much of it is kept |

mod answer;
mod api;
mod call;
mod chat;
mod connections;
mod faults;
mod guard;
mod http;
mod markup;
mod messages;
mod other_methods;
mod pace;
mod page;
mod params;
mod person;
mod posted;
mod response;
mod script;
mod script_file;
mod settings;
mod shared;
mod state;
mod token;
mod topics;
mod updates;
mod webhook;
mod words;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clitape_process::threads::{HelperThread, ThreadDied, client_runtime};
use clitape_process::{NetworkDoor, ProcessError};
use clitape_recording::clock;
use clitape_recording::trace::Entry;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

pub(crate) use chat::username;
pub use connections::Serve;
pub use faults::{CallFault, CallFaultError, ConnectionFault, Faults, ListedFault};
pub use pace::PaceLimits;
pub use person::{PersonError, PressTarget};
pub use script_file::{MOST_STEPS, PersonScript, SCRIPT_CHAT, ScriptError};
pub use settings::{BOT_API, ChatServerSettings};
pub use state::LastCall;

pub(crate) use connections::http;
pub use markup::drawn;

use chat::BotChat;
use connections::{Listening, OpenConnections, without_panic};
use pace::Pace;
use shared::Shared;
use state::ServerState;
use token::Token;

use crate::kept::KeptBytes;

/// The name of the thread of a server.
const THREAD: &str = "chat-server";

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct ChatServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// The runtime of the thread.
    runtime: Handle,
    /// The sockets on which it listens.
    listen: mpsc::UnboundedSender<Listening>,
    stop: Option<oneshot::Sender<()>>,
    thread: HelperThread,
}

impl ChatServer {
    /// Starts a server on a thread of its own. What it keeps counts for the account of its run.
    ///
    /// # Errors
    ///
    /// The address is not one of this machine alone, is in use, the token can't be part of a path, or the system has no
    /// random bytes for one, or its clock has no date of HTTP.
    pub fn start(settings: ChatServerSettings, kept: Arc<KeptBytes>) -> Result<Self, ProcessError> {
        if !settings.address.ip().is_loopback() {
            let words = "a chat server listens on this machine alone: 127.0.0.1 or ::1";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words).into());
        }
        clock::check()?;
        let token = settings.token.as_deref().map_or_else(Token::random, Token::chosen)?;
        let runtime = client_runtime()?;
        let listener = runtime.block_on(TcpListener::bind(settings.address))?;
        let address = listener.local_addr()?;
        let script = settings.script.clone();
        let shared = Arc::new(Shared::new(ServerState::new(settings, token, kept)));
        let (stop, stopped) = oneshot::channel();
        let (listen, mut listening) = mpsc::unbounded_channel();
        let first = Listening { listener, serve: Serve::Plain };
        let handle = runtime.handle().clone();
        let inner = shared.clone();
        let thread = HelperThread::start(THREAD, move || {
            runtime.block_on(async {
                let mut tasks = JoinSet::new();
                let open = Arc::<Mutex<OpenConnections>>::default();
                let accept = |socket| {
                    let router = http::router(&inner);
                    connections::accept(socket, router, inner.clone(), open.clone())
                };
                tasks.spawn(accept(first));
                tasks.spawn(webhook::deliver(inner.clone()));
                if let Some(script) = script {
                    tasks.spawn(script::play(inner.clone(), script));
                }
                let all_end = async {
                    loop {
                        tokio::select! {
                            Some(ended) = tasks.join_next() => without_panic(ended),
                            Some(further) = listening.recv() => {
                                tasks.spawn(accept(further));
                            }
                            else => return,
                        }
                    }
                };
                tokio::select! {
                    // A handle that is gone stops the server too.
                    _ = stopped => {}
                    () = all_end => {}
                }
            });
            runtime.shutdown_background();
        })?;
        Ok(Self { shared, address, runtime: handle, listen, stop: Some(stop), thread })
    }

    /// Serves on a further socket, which may belong to another network of this machine: a gateway in a network of its
    /// own reaches the server there. Only connections from the loopback of that network are taken.
    ///
    /// # Errors
    ///
    /// The socket can't be waited for, or the server has ended.
    pub fn listen(
        &self,
        listener: std::net::TcpListener,
        serve: Serve,
    ) -> Result<(), ProcessError> {
        listener.set_nonblocking(true)?;
        let _inside = self.runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        let further = Listening { listener, serve };
        Ok(self.listen.send(further).map_err(|_| ThreadDied { name: THREAD })?)
    }

    /// Posts updates to a webhook through the door of the gateway's own network from now on.
    pub fn post_through(&self, door: Arc<NetworkDoor>) {
        self.shared.change(|state| state.door = Some(door));
    }

    /// Checks that the server still works.
    ///
    /// # Errors
    ///
    /// [`ThreadDied`] if its thread has ended by itself.
    pub fn check(&self) -> Result<(), ThreadDied> {
        self.thread.check()
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address that the bot is given in place of `https://api.telegram.org`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bot's token.
    pub fn token(&self) -> String {
        self.shared.read(|state| state.token.as_str().to_owned())
    }

    /// The bot's username, without `@`.
    pub fn bot_username(&self) -> String {
        self.shared.read(|state| state.bot.username.clone())
    }

    /// Returns a text of the bot without the random part of its token, which differs in each run.
    pub fn masked(&self, text: &str) -> String {
        self.shared.read(|state| state.token.masked(text).into_owned())
    }

    /// Returns a function that masks as [`Self::masked`] does, for another thread.
    pub fn mask(&self) -> impl Fn(&str) -> String + Send + 'static {
        let shared = self.shared.clone();
        move |text| shared.read(|state| state.token.masked(text).into_owned())
    }

    /// Returns whether the bot is ready to be written to: a poll that waits has come, several that do not, or a
    /// webhook.
    pub fn polled(&self) -> bool {
        self.shared.read(|state| state.updates.is_ready())
    }

    /// Writes a message of the person and returns its id in the Bot API. A chat begins with its first message; a
    /// negative number is a group's.
    ///
    /// # Errors
    ///
    /// [`PersonError`] when there are too many chats or messages, or the text is empty.
    pub fn say(&self, chat: i64, text: &str) -> Result<i64, PersonError> {
        self.shared.change(|state| person::say(state, chat, None, text))
    }

    /// Writes a message of the person in a topic, as [`say`](Self::say) does.
    ///
    /// # Errors
    ///
    /// Those of [`say`](Self::say).
    pub fn say_in_topic(&self, chat: i64, topic: i64, text: &str) -> Result<i64, PersonError> {
        self.shared.change(|state| person::say(state, chat, Some(topic), text))
    }

    /// Presses the button with this label.
    ///
    /// # Errors
    ///
    /// [`PersonError`] when there is no such chat, message or button.
    pub fn press(&self, chat: i64, target: PressTarget, label: &str) -> Result<(), PersonError> {
        self.shared.change(|state| person::press(state, chat, target, label))
    }

    /// Makes a chat in which the person has not written yet.
    ///
    /// # Errors
    ///
    /// [`PersonError::TooManyChats`].
    pub fn open(&self, chat: i64) -> Result<(), PersonError> {
        self.shared.change(|state| {
            let most = state.settings.limits.chats;
            state.open(chat).map(|_| ()).ok_or(PersonError::TooManyChats(most))
        })
    }

    /// Makes a group in which a person writes; a forum has topics.
    ///
    /// # Errors
    ///
    /// [`PersonError::TooManyChats`].
    pub fn open_group(&self, chat: i64, person: i64, is_forum: bool) -> Result<(), PersonError> {
        self.shared.change(|state| {
            let most = state.settings.limits.chats;
            let chat = state.open(chat).ok_or(PersonError::TooManyChats(most))?;
            (chat.person, chat.has_topics) = (Some(person), is_forum);
            Ok(())
        })
    }

    /// Makes a topic of a group as its person does, and returns its number.
    ///
    /// # Errors
    ///
    /// [`PersonError`] when there is no such chat, or it is full.
    pub fn make_topic(&self, chat: i64, name: &str) -> Result<i64, PersonError> {
        self.shared.change(|state| topics::make(state, chat, name))
    }

    /// Gives a chat faults of its own, in place of those of the server, and counts its calls from here on: for the next
    /// recording it is as a new chat.
    ///
    /// # Errors
    ///
    /// [`PersonError::TooManyChats`] when the chat is new.
    pub fn set_faults(&self, chat: i64, faults: Faults) -> Result<(), PersonError> {
        self.shared.change(|state| {
            let most = state.settings.limits.chats;
            let chat = state.open(chat).ok_or(PersonError::TooManyChats(most))?;
            chat.faults = Some(faults);
            (chat.calls, chat.pace) = (0, Pace::default());
            chat.calls_of.clear();
            Ok(())
        })
    }

    /// Returns the numbers of the chats.
    pub fn chats(&self) -> Vec<i64> {
        self.shared.read(|state| state.chats.keys().copied().collect())
    }

    /// Returns what happened in a chat, in the order in which it took effect, in the lane `telegram`.
    ///
    /// `at` counts milliseconds from the chat's first message of the person to the moment at which a call came;
    /// `took_ms` in the data is the time until its answer, and is missing while the call is under way. The
    /// person's acts are the kinds `(user)` and `(press)`. Messages have the numbers that they have in the chat, from
    /// 1: ids of the Bot API count the messages of all chats, and would differ from run to run.
    pub fn entries(&self, chat: i64) -> Vec<Entry> {
        self.entries_after(chat, 0)
    }

    /// Returns what happened in a chat after its first `known` entries, as [`entries`](Self::entries) does; `at` counts
    /// from the person's first message among them.
    pub fn entries_after(&self, chat: i64, known: usize) -> Vec<Entry> {
        self.shared.read(|state| {
            let entries = state.chats.get(&chat).map_or(&[][..], BotChat::entries);
            let part = entries.get(known..).unwrap_or_default();
            let start = part.iter().find(|entry| entry.kind == "(user)");
            let start = start.map_or(0, |entry| entry.at);
            part.iter().map(|entry| entry.at_time(entry.at.saturating_sub(start))).collect()
        })
    }

    /// Returns the calls that belong to no chat, polls aside; `at` counts from the start of the server.
    pub fn bot_entries(&self) -> Vec<Entry> {
        self.shared.read(|state| state.bot_entries.clone())
    }

    /// Returns how often the bot called each method that the server does not know, and answered with 404.
    pub fn unknown_methods(&self) -> BTreeMap<String, u64> {
        self.shared.read(|state| state.unknown_methods.clone())
    }

    /// Returns the last call of a chat; its time is of [`now_ms`](Self::now_ms).
    pub fn last_call(&self, chat: i64) -> Option<LastCall> {
        self.shared.read(|state| {
            let chat = state.chats.get(&chat)?;
            let (at_ms, kind) = chat.last_call.clone()?;
            Some(LastCall { at_ms, kind, under_way: chat.under_way })
        })
    }

    /// Milliseconds since the start of the server.
    pub fn now_ms(&self) -> u64 {
        self.shared.read(ServerState::now)
    }

    /// Returns the lines of the log after the first `read` lines.
    pub fn log(&self, read: usize) -> Vec<String> {
        self.shared.read(|state| state.log(read).to_vec())
    }

    /// Returns the line about the last request that was refused whoever sent it, such as one with another token.
    pub fn last_refusal(&self) -> Option<String> {
        self.shared.read(|state| state.last_refusal.clone())
    }

    /// Closes all connections and takes none for a time, as a server that restarts. Messages and updates that the
    /// bot has not acknowledged are kept.
    pub fn restart(&self, time: Duration) {
        self.shared.restart(time);
    }

    /// Stops the server.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for ChatServer {
    fn drop(&mut self) {
        // The thread is waited for after that.
        drop(self.stop.take());
    }
}
