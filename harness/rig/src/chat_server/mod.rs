//! The Bot API on loopback, with the limits and the faults of the field.
//!
//! [`ChatServer::start`] starts a server for one bot. The bot gets the server's address in place of
//! `https://api.telegram.org`, and the token. A person's acts are calls of this library ([`ChatServer::say`],
//! [`ChatServer::press`]), requests by HTTP, or the steps of a [`PersonScript`]. Calls and acts become the entries of a
//! trace, chat by chat ([`ChatServer::entries`]).
//!
//! | module | contents |
//! |---|---|
//! | `api`, `messages` | the methods, as a table, and those for messages |
//! | `files`, `drafts`, `topics` | the methods for files and albums, for drafts, and for topics |
//! | `call` | one call: its latency, its fault, its entry, its response |
//! | `markup` | HTML, Markdown and rich messages as Telegram reads them, with its errors |
//! | `faults` | the failing calls, and the limits on how often a bot may write |
//! | `updates`, `webhook` | the updates for the bot, and the ways to deliver them |
//! | `person` | the acts of a person |
//! | `connections` | the open connections |
//! | `http`, `page` | the paths of the server, the refusal of requests from web pages, and its page |
//! | `settings` | the settings of a server: the bot's token, the script of a person |
//! | `wire` | the parameters and the answer of a call |
//! | `state` | the stored state, and the limits on its size |

mod api;
mod call;
mod connections;
mod drafts;
mod faults;
mod files;
mod http;
mod markup;
mod messages;
mod page;
mod person;
mod settings;
mod state;
mod topics;
mod updates;
mod webhook;
mod wire;

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

pub use connections::Serve;
pub use faults::{CallFault, CallFaultError, ConnectionFault, Faults, ListedFault, PaceLimits};
pub use person::{PersonError, PersonText, PressTarget};
pub use settings::{
    BOT_API, ChatServerSettings, MOST_STEPS, PersonScript, SCRIPT_CHAT, ScriptError,
};
pub use state::LastCall;
pub(crate) use state::username;

pub(crate) use connections::http;
pub use markup::drawn;

use connections::{Listening, OpenConnections, without_panic};
use faults::Pace;
use settings::Token;
use state::{BotChat, ServerState, Shared};

use crate::limits::KeptBytes;

/// The name of the thread of a server.
const THREAD: &str = "chat-server";

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct ChatServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// The runtime of the server's thread.
    runtime: Handle,
    /// The sender of further sockets to listen on.
    listen: mpsc::UnboundedSender<Listening>,
    stop: Option<oneshot::Sender<()>>,
    thread: HelperThread,
}

impl ChatServer {
    /// Starts a server on a separate thread. The memory of its chats counts in the account of the run.
    ///
    /// # Errors
    ///
    /// An error if the address is not of this machine alone or is in use, if the token can't be part of a path, if the
    /// system has no random bytes for a token, or if its clock is outside the dates of HTTP.
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
                    tasks.spawn(person::play_script(inner.clone(), script));
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
                    // A dropped `ChatServer` closes this channel too.
                    _ = stopped => {}
                    () = all_end => {}
                }
            });
            runtime.shutdown_background();
        })?;
        Ok(Self { shared, address, runtime: handle, listen, stop: Some(stop), thread })
    }

    /// Serves on a further socket, which may belong to another network of this machine: there, a gateway in a network
    /// of its own reaches the server. Only connections from the loopback of that network are accepted.
    ///
    /// # Errors
    ///
    /// An error if the socket can't be waited for, or if the server has ended.
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

    /// Checks that the server is still running.
    ///
    /// # Errors
    ///
    /// [`ThreadDied`] if its thread has ended by itself.
    pub fn check(&self) -> Result<(), ThreadDied> {
        self.thread.check()
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL that the bot uses in place of `https://api.telegram.org`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the bot's token.
    pub fn token(&self) -> String {
        self.shared.read(|state| state.token.as_str().to_owned())
    }

    /// Returns the bot's username, without `@`.
    pub fn bot_username(&self) -> String {
        self.shared.read(|state| state.bot.username.clone())
    }

    /// Returns a text of the bot with the random part of its token masked, because that differs in each run.
    pub fn masked(&self, text: &str) -> String {
        self.shared.read(|state| state.token.masked(text).into_owned())
    }

    /// Returns a function that masks like [`Self::masked`], for another thread.
    pub fn mask(&self) -> impl Fn(&str) -> String + Send + 'static {
        let shared = self.shared.clone();
        move |text| shared.read(|state| state.token.masked(text).into_owned())
    }

    /// Returns whether the bot is ready for a message: it has sent one long poll or several short ones, or has set a
    /// webhook.
    pub fn polled(&self) -> bool {
        self.shared.read(|state| state.updates.is_ready())
    }

    /// Forgets that the bot has polled, because its program was ended. Updates that it has not acknowledged stay.
    pub(crate) fn forget_polls(&self) {
        self.shared.change(|state| state.updates.forget_polls());
    }

    /// Writes a message as the person and returns its id in the Bot API. The first message creates the chat; a negative
    /// number is a group.
    ///
    /// # Errors
    ///
    /// [`PersonError`] if there are too many chats or messages, or if the text is empty.
    pub fn say(&self, chat: i64, text: &str) -> Result<i64, PersonError> {
        self.shared.change(|state| person::say(state, chat, PersonText::of(text, None)))
    }

    /// Writes a message as the person in a topic, like [`say`](Self::say).
    ///
    /// # Errors
    ///
    /// Those of [`say`](Self::say).
    pub fn say_in_topic(&self, chat: i64, topic: i64, text: &str) -> Result<i64, PersonError> {
        self.shared.change(|state| person::say(state, chat, PersonText::of(text, Some(topic))))
    }

    /// Writes a message as the person, like [`say`](Self::say): a reply, or an album with a caption.
    ///
    /// # Errors
    ///
    /// Those of [`say`](Self::say), and one if the message that is answered does not exist.
    pub fn write(&self, chat: i64, written: PersonText<'_>) -> Result<i64, PersonError> {
        self.shared.change(|state| person::say(state, chat, written))
    }

    /// Edits the person's message with this number in its chat, from 1, as the person.
    ///
    /// # Errors
    ///
    /// [`PersonError`] if the person has no such message, or if the chat is full.
    pub fn edit(&self, chat: i64, message: i64, text: &str) -> Result<(), PersonError> {
        self.shared.change(|state| person::edit(state, chat, message, text))
    }

    /// Presses the button with this label as the person.
    ///
    /// # Errors
    ///
    /// [`PersonError`] if the chat, the message or the button does not exist.
    pub fn press(&self, chat: i64, target: PressTarget, label: &str) -> Result<(), PersonError> {
        self.shared.change(|state| person::press(state, chat, target, label))
    }

    /// Presses the Stop button of the bot's draft as the person; `topic` is that of the draft.
    ///
    /// # Errors
    ///
    /// [`PersonError`] if the chat does not exist or shows no draft that can be stopped.
    pub fn stop_draft(&self, chat: i64, topic: Option<i64>) -> Result<(), PersonError> {
        self.shared.change(|state| person::stop(state, chat, topic))
    }

    /// Creates a chat in which the person has not written yet.
    ///
    /// # Errors
    ///
    /// [`PersonError::TooManyChats`] if the limit of chats is reached.
    pub fn open(&self, chat: i64) -> Result<(), PersonError> {
        self.shared.change(|state| {
            let most = state.settings.limits.chats;
            state.open(chat).map(|_| ()).ok_or(PersonError::TooManyChats(most))
        })
    }

    /// Creates a group in which a person writes; a forum has topics.
    ///
    /// # Errors
    ///
    /// [`PersonError::TooManyChats`] if the limit of chats is reached.
    pub fn open_group(&self, chat: i64, person: i64, is_forum: bool) -> Result<(), PersonError> {
        self.shared.change(|state| {
            let most = state.settings.limits.chats;
            let chat = state.open(chat).ok_or(PersonError::TooManyChats(most))?;
            (chat.person, chat.has_topics) = (Some(person), is_forum);
            Ok(())
        })
    }

    /// Creates a topic of a group as its person, and returns its number.
    ///
    /// # Errors
    ///
    /// [`PersonError`] if the chat does not exist or is full.
    pub fn make_topic(&self, chat: i64, name: &str) -> Result<i64, PersonError> {
        self.shared.change(|state| topics::make_topic(state, chat, name))
    }

    /// Gives a chat its own faults in place of the server's, and starts to count its calls anew, as in a new chat,
    /// because the next recording is played in it.
    ///
    /// # Errors
    ///
    /// [`PersonError::TooManyChats`] if the chat is new and the limit of chats is reached.
    pub fn set_faults(&self, chat: i64, faults: Faults) -> Result<(), PersonError> {
        self.shared.change(|state| {
            let most = state.settings.limits.chats;
            let chat = state.open(chat).ok_or(PersonError::TooManyChats(most))?;
            chat.faults = Some(faults);
            (chat.calls, chat.pace, chat.due) = (0, Pace::default(), None);
            chat.calls_of.clear();
            Ok(())
        })
    }

    /// Lets the next call of a chat fail that is numbered there.
    pub(crate) fn fail_next(&self, chat: i64, fault: CallFault) {
        self.shared.change(|state| {
            if let Some(chat) = state.chats.get_mut(&chat) {
                chat.due = Some(fault);
            }
        });
    }

    /// Returns the numbers of the chats.
    pub fn chats(&self) -> Vec<i64> {
        self.shared.read(|state| state.chats.keys().copied().collect())
    }

    /// Returns the entries of a chat in the order in which they took effect, in the lane `telegram`.
    ///
    /// `at` is the milliseconds from the person's first message in the chat to the arrival of a call; `took_ms` in the
    /// data is the time until its answer, and is missing while the call is under way. The person's acts are the kinds
    /// `(user)`, `(edit)`, `(press)` and `(stop)`. Messages have their numbers in the chat, from 1, because the ids of the Bot API count
    /// the messages of all chats, and would differ from run to run.
    pub fn entries(&self, chat: i64) -> Vec<Entry> {
        self.entries_after(chat, 0)
    }

    /// Returns the entries of a chat behind the first `known` ones, like [`entries`](Self::entries); `at` counts from
    /// the person's first message among them.
    pub fn entries_after(&self, chat: i64, known: usize) -> Vec<Entry> {
        self.shared.read(|state| {
            let entries = state.chats.get(&chat).map_or(&[][..], BotChat::entries);
            let part = entries.get(known..).unwrap_or_default();
            let start = part.iter().find(|entry| entry.kind == "(user)");
            let start = start.map_or(0, |entry| entry.at);
            part.iter().map(|entry| entry.at_time(entry.at.saturating_sub(start))).collect()
        })
    }

    /// Returns the calls that are about no chat, without polls; `at` counts from the start of the server.
    pub fn bot_entries(&self) -> Vec<Entry> {
        self.shared.read(|state| state.bot_entries.clone())
    }

    /// Returns the number of calls of each method that the server does not have; it answers them with 404.
    pub fn unknown_methods(&self) -> BTreeMap<String, u64> {
        self.shared.read(|state| state.unknown_methods.clone())
    }

    /// Returns the last call in a chat; its time is of [`now_ms`](Self::now_ms).
    pub fn last_call(&self, chat: i64) -> Option<LastCall> {
        self.shared.read(|state| {
            let chat = state.chats.get(&chat)?;
            let (at_ms, kind) = chat.last_call.clone()?;
            Some(LastCall { at_ms, kind, under_way: chat.under_way })
        })
    }

    /// Returns the milliseconds since the start of the server.
    pub fn now_ms(&self) -> u64 {
        self.shared.read(ServerState::now)
    }

    /// Returns the lines of the log behind the first `read` ones.
    pub fn log(&self, read: usize) -> Vec<String> {
        self.shared.read(|state| state.log(read).to_vec())
    }

    /// Returns the line about the last request that was refused regardless of its sender, such as one with a wrong
    /// token.
    pub fn last_refusal(&self) -> Option<String> {
        self.shared.read(|state| state.last_refusal.clone())
    }

    /// Closes all connections and accepts none for a time, like a server that restarts. Messages and unacknowledged
    /// updates are kept.
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
        // Stops the thread, which the field `thread` then joins.
        drop(self.stop.take());
    }
}
