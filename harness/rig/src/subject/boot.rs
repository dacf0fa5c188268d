//! Starts a gateway: makes its temporary folder, its files and its environment, and waits until it is ready.
//!
//! A start has a way to the chat server: its servers, and the variables and files that a program needs for it. A URL
//! may say when the gateway is ready.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clitape_process::threads::{NoMoreThreads, ThreadDied, start};
use clitape_process::{
    Cover, Isolation, NetworkDoor, NetworkSockets, OutputReader, Overflow, OwnNetwork,
    ProcessError, Program, ProgramStart, Scratch,
};
use clitape_recording::cassette::Exit;
use clitape_recording::files;
use clitape_recording::names::CliVersion;
use fs_err as fs;
use nix::sys::signal::Signal;

use super::error::SubjectError;
use super::packages::{self, Packages};
use super::patience::{GiveUpReason, Patience, SLOW_START_S, STILL, Stillness};
use super::persons::Persons;
use super::prepare::{Prepared, RigHost, environment};
use super::spec::{ChatReach, Front, GatewaySpec, Places, Printing, ReadySign, Writing};
use crate::chat_server::{ChatServer, ChatServerSettings};
use crate::editor::{Editor, EditorError};
use crate::limits::{ChatServerLimits, KeptBytes};
use crate::reach::{InsideServers, NetworkSandbox, ProxyWay, Refused};
use crate::stand_in::{self, AgentFaults};

/// The time that a gateway has to end after it was asked to.
pub(crate) const ENDING: Duration = Duration::from_secs(10);
/// The time between two looks at a gateway or its runs.
pub(crate) const LOOK: Duration = Duration::from_millis(20);
/// The number of the gateway's last lines that a message shows.
pub(crate) const LAST_LINES: usize = 8;

/// A running gateway. Dropping it ends the gateway and removes its folder.
pub(crate) struct Boot {
    /// The chat server or the editor that the person uses.
    pub(crate) person: Arc<PersonSide>,
    /// The process of the gateway.
    pub(crate) program: Program,
    /// The time until it was ready.
    pub(crate) ready_after: Duration,
    /// The way by which it reaches the chat server.
    pub(crate) reach: ChatReach,
    /// The servers on the way to the chat server.
    serving: Serving,
    /// The part that stays when it is started again; last, so that its folder is removed after the rest has ended.
    pub(crate) ground: Arc<Ground>,
}

/// The folders, files and placeholders of a gateway, which stay when it is started again.
pub(crate) struct Ground {
    /// The path of the stand-in.
    claude: PathBuf,
    /// The path of the stand-in's log.
    pub(crate) log: PathBuf,
    /// The path of the file for the gateway's event bus.
    pub(crate) bus: PathBuf,
    /// The placeholders of the gateway's settings, with their values.
    pub(crate) places: Places,
    /// The hosts that were refused to it.
    pub(crate) refused: Refused,
    folders: StartFolders,
}

impl std::fmt::Debug for Boot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Boot").field("program", &self.program).finish_non_exhaustive()
    }
}

/// The side of the person at one start of a gateway.
pub(crate) enum PersonSide {
    /// A chat server.
    Chat(ChatServer),
    /// An editor, with the folder in which it opens sessions.
    Editor(Editor, PathBuf),
}

/// The manner in which the stand-in plays at one start of a gateway.
#[derive(Debug, Clone)]
pub(crate) struct Playing {
    /// The version that `claude --version` prints.
    pub(crate) cli: Option<CliVersion>,
    /// The times at which it prints.
    pub(crate) printing: Printing,
    /// True if each line comes in two pieces.
    pub(crate) in_halves: bool,
    /// The patience with a gateway that does not work.
    pub(crate) patience: Patience,
    /// The seconds for which a process of one message lives on after its result.
    pub(crate) lives_on_s: u64,
    /// The faults of what it prints.
    pub(crate) agent_faults: AgentFaults,
    /// True if the gateway's program runs in the locale `C`.
    pub(crate) c_locale: bool,
    /// True if no earlier session can be resumed.
    pub(crate) sessions_are_gone: bool,
}

/// The parts of a start of a gateway.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    /// The settings of the gateway.
    pub(crate) spec: &'a GatewaySpec,
    /// The packages that were installed for it.
    pub(crate) prepared: &'a Prepared,
    /// The manner in which the stand-in plays.
    pub(crate) playing: &'a Playing,
    /// The persons who write to the gateway.
    pub(crate) persons: &'a Persons,
    pub(crate) rig: RigHost<'a>,
    /// The account of the run, in which all data from the gateway counts.
    pub(crate) kept: &'a Arc<KeptBytes>,
}

impl Start<'_> {
    /// Returns whether the settings, or the templates of files, contain one of these placeholders.
    fn has_place(&self, names: &[&str]) -> bool {
        self.spec.has_place(names, self.prepared.places(self.rig), self.rig.workspace.root())
    }
}

/// The temporary folders of a start.
struct StartFolders {
    scratch: Scratch,
    home: PathBuf,
    workspace: PathBuf,
    bin: PathBuf,
    temp: PathBuf,
    reach: PathBuf,
}

impl StartFolders {
    fn new(rig: RigHost<'_>) -> Result<Self, SubjectError> {
        let scratch = Scratch::for_program(rig.host)?;
        let folder = |name: &str| {
            let folder = scratch.path().join(name);
            fs::create_dir(&folder).map(|()| folder)
        };
        let [home, workspace, bin, temp, reach] = [
            folder("home")?,
            folder("workspace")?,
            folder("bin")?,
            folder("temp")?,
            folder("reach")?,
        ];
        Ok(Self { scratch, home, workspace, bin, temp, reach })
    }
}

#[allow(clippy::expect_used, reason = "the state is impossible")]
impl Boot {
    /// Starts a gateway and waits until it is ready. If the system does not support a way to the chat server, the next
    /// one is tried.
    ///
    /// # Errors
    ///
    /// [`SubjectError`] if the gateway can't be started, ends, or is not ready in time.
    pub(crate) fn start(start: Start<'_>) -> Result<Self, SubjectError> {
        let ways = ways(start.spec, start.has_place(&["{bot_api}"]));
        let (last, others) = ways.split_last().expect("each gateway has a way");
        for reach in others {
            match Self::by(*reach, start) {
                Err(SubjectError::NoIsolation(_)) => {}
                started => return started,
            }
        }
        Self::by(*last, start)
    }

    fn by(reach: ChatReach, start: Start<'_>) -> Result<Self, SubjectError> {
        let Start { spec, prepared, persons, rig, kept, .. } = start;
        let folders = StartFolders::new(rig)?;
        let scratch = folders.scratch.path();
        let claude = stand_in::install(rig.program, &folders.bin)?;
        let chat = match spec.front {
            Front::Chat => {
                // Other programs may not act as the person, because clitape itself does.
                let (serves_person, limits) = (false, rig.limits.chat);
                let settings =
                    ChatServerSettings { serves_person, limits, ..ChatServerSettings::default() };
                Some(ChatServer::start(settings, kept.clone())?)
            }
            Front::Editor => None,
        };
        let [log, bus] = ["stand-in.log", "bus.jsonl"].map(|name| scratch.join(name));
        let mut places = prepared.places(rig);
        for (name, path) in [
            ("claude", &claude),
            ("bin", &folders.bin),
            ("workspace", &folders.workspace),
            ("home", &folders.home),
            ("temp", &folders.temp),
            ("log", &log),
            ("bus", &bus),
        ] {
            places.set(name, path.to_string_lossy());
        }
        if let Some(chat) = &chat {
            places.set("bot_api", chat.url());
            places.set("token", chat.token());
            places.set("bot", chat.bot_username());
            persons.open(chat);
            persons.set_places(&mut places);
        }
        places.set("port", free_port()?.to_string());
        for (name, value) in &spec.values {
            let value = places.fill(value, Writing::Plain);
            places.set(name, value);
        }
        for folder in &spec.claude_first {
            let claude = Path::new(&places.fill(folder, Writing::Plain)).join("claude");
            if claude.exists() {
                return Err(SubjectError::OtherClaude(claude));
            }
        }
        write_files(spec, &places, scratch, rig.workspace.root())?;
        let ground = Ground { folders, claude, log, bus, places, refused: Refused::default() };
        let begin = Instant::now();
        let (mut program, serving) = ground.launch(reach, start, chat.as_ref())?;
        let person = match (chat, program.take_stdin().zip(program.take_stdout())) {
            (Some(chat), _) => PersonSide::Chat(chat),
            (None, Some((stdin, stdout))) => {
                let editor = Editor::new(stdin, stdout, rig.limits, kept.clone());
                let failed = |error| match error {
                    EditorError::Start(error) => error.into(),
                    error => not_ready(error.to_string()),
                };
                PersonSide::Editor(editor.map_err(failed)?, ground.folders.workspace.clone())
            }
            (None, None) => {
                return Err(not_ready("its stdin and stdout can't be taken".to_owned()));
            }
        };
        let (person, ground) = (Arc::new(person), Arc::new(ground));
        let ready_after = Duration::ZERO;
        let mut boot = Self { person, program, ready_after, reach, serving, ground };
        boot.wait(spec, start.playing.patience, begin, rig)?;
        boot.ready_after = begin.elapsed();
        Ok(boot)
    }

    /// Kills the gateway, as a machine does that has no memory left or loses its power.
    ///
    /// # Errors
    ///
    /// [`SubjectError`] if its end can't be seen.
    pub(crate) fn kill(&mut self, chat: &ChatServer, rig: RigHost<'_>) -> Result<(), SubjectError> {
        self.program.signal_program(Signal::SIGKILL);
        self.program.wait(ENDING, rig.stop)?;
        chat.forget_polls();
        Ok(())
    }

    /// Starts the gateway again in its folders, with the same chat server, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// Those of [`Self::start`].
    pub(crate) fn start_again(
        &mut self,
        chat: &ChatServer,
        start: Start<'_>,
    ) -> Result<(), SubjectError> {
        let begin = Instant::now();
        (self.program, self.serving) = self.ground.launch(self.reach, start, Some(chat))?;
        self.wait(start.spec, start.playing.patience, begin, start.rig)?;
        self.ready_after = begin.elapsed();
        Ok(())
    }

    /// Waits until the gateway is ready; an error if it ends, or if it is given up.
    fn wait(
        &mut self,
        spec: &GatewaySpec,
        patience: Patience,
        begin: Instant,
        rig: RigHost<'_>,
    ) -> Result<(), SubjectError> {
        let ground = self.ground.clone();
        let places = &ground.places;
        let mut stillness = (patience == Patience::Check).then(|| Stillness::new(begin));
        let limit = Duration::from_secs(spec.ready.within_s);
        let url = match &spec.ready.sign {
            ReadySign::Url(url) => {
                let url = places.fill(url, Writing::Plain);
                Some(UrlWatch::start(url, self.serving.door()).map_err(io::Error::from)?)
            }
            _ => None,
        };
        let is_stopped = || rig.stop.load(Ordering::Relaxed);
        loop {
            if is_stopped() {
                return Err(SubjectError::Stopped);
            }
            self.person.check()?;
            self.serving.check()?;
            let is_ready = match (&spec.ready.sign, &*self.person) {
                (ReadySign::Output(text), _) => self.program.has_printed(text),
                (ReadySign::Url(_), _) => url.as_ref().is_some_and(UrlWatch::has_answered),
                (ReadySign::Poll | ReadySign::Greeting, PersonSide::Chat(chat)) => chat.polled(),
                (ReadySign::Poll | ReadySign::Greeting, PersonSide::Editor(editor, _)) => {
                    match editor.is_greeted(Duration::ZERO, &is_stopped) {
                        // The poll below reports a program that has ended.
                        Err(EditorError::Ended { .. }) => false,
                        Err(EditorError::Stopped) => return Err(SubjectError::Stopped),
                        greeted => greeted.map_err(|error| self.not_ready(error.to_string()))?,
                    }
                }
            };
            if is_ready {
                return Ok(());
            }
            if let Some(exit) = self.program.poll()? {
                // The rest of its output may still be on its way.
                self.program.wait(Duration::from_secs(1), rig.stop)?;
                // A program that prints too much is cut off, which may be the cause of its end.
                if let Some(what) = self.program.overflow().map(Overflow::with_option) {
                    return Err(self.not_ready(format!("it printed {what} before it was ready")));
                }
                let refusal = self.person.last_refusal();
                let why = format!("it {} before it was ready{refusal}", ended(exit));
                return Err(self.not_ready(why));
            }
            let given_up = stillness.as_mut().and_then(|still| {
                let is_refused = !self.person.last_refusal().is_empty();
                still.gives_up_start(&self.program, is_refused, spec.ready.within_s)
            });
            if let Some(given_up) = given_up {
                return Err(self.not_ready(self.given_up(given_up, spec)));
            }
            if begin.elapsed() > limit {
                let s = spec.ready.within_s;
                let why = match &spec.ready.sign {
                    ReadySign::Greeting => format!(
                        "it did not answer `initialize` within {s} s; does it speak the Agent Client \
                         Protocol on its stdin and stdout?"
                    ),
                    ReadySign::Poll => format!(
                        "it did not ask {} for updates within {s} s; does it have `{{token}}`? Raise \
                         `ready.within_s` if it needs longer{}",
                        self.asked_host(),
                        self.person.last_refusal()
                    ),
                    ReadySign::Output(text) => format!(
                        "it did not print `{text}` within {s} s; raise `ready.within_s` if it needs longer"
                    ),
                    ReadySign::Url(url) => format!(
                        "{} did not answer with a status below 400 within {s} s; raise \
                         `ready.within_s` if it needs longer",
                        places.fill(url, Writing::Plain)
                    ),
                };
                return Err(self.not_ready(why));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Returns the sentence about a gateway that a check gave up.
    fn given_up(&self, given_up: GiveUpReason, spec: &GatewaySpec) -> String {
        let waits_for = match &spec.ready.sign {
            ReadySign::Greeting => "did not answer `initialize`".to_owned(),
            ReadySign::Poll => format!("did not ask {} for updates", self.asked_host()),
            ReadySign::Output(text) => format!("did not print `{text}`"),
            ReadySign::Url(_) => "did not answer at `ready.url`".to_owned(),
        };
        match given_up {
            GiveUpReason::Refused => format!("it {waits_for}{}", self.person.last_refusal()),
            GiveUpReason::Asks => {
                format!(
                    "it {waits_for}, and asks for an answer on a terminal, which it does not have"
                )
            }
            GiveUpReason::Still => format!(
                "it {waits_for}, and has done nothing for {} s; a program that waits longer at its start needs \
                 `ready.within_s` above {SLOW_START_S}",
                STILL.as_secs()
            ),
        }
    }

    /// Returns the name under which this gateway reaches the chat server.
    fn asked_host(&self) -> String {
        match (&*self.person, self.reach) {
            (PersonSide::Chat(chat), ChatReach::Address) => chat.url(),
            (PersonSide::Chat(_), ChatReach::Sandbox | ChatReach::Proxy) => {
                "api.telegram.org".to_owned()
            }
            (PersonSide::Editor(..), _) => "the editor".to_owned(),
        }
    }

    fn not_ready(&self, why: String) -> SubjectError {
        let printed = self.person.last_lines(&self.program);
        SubjectError::NotReady { why, printed, refused: self.ground.refused.sentences() }
    }
}

impl Ground {
    /// Starts the program, and the servers on its way to the chat server.
    fn launch(
        &self,
        reach: ChatReach,
        start: Start<'_>,
        chat: Option<&ChatServer>,
    ) -> Result<(Program, Serving), SubjectError> {
        let Start { spec, rig, .. } = start;
        let Self { folders, places, claude, refused, .. } = self;
        let mut way = Way::new(reach, &folders.reach, chat, refused, rig.limits.chat)?;
        let mut environment = own_environment(start, folders, places, &self.log)?;
        environment.extend(way.variables(&environment));
        let settings =
            environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        stand_in::write_run_file(claude, settings)?;
        let command: Vec<OsString> =
            spec.command.iter().map(|part| places.fill(part, Writing::Plain).into()).collect();
        let folder = match &spec.folder {
            Some(folder) => root(rig)?.join(places.fill(folder, Writing::Plain)),
            None => root(rig)?,
        };
        let quiet = way.quiet();
        let program = ProgramStart {
            command: &command,
            environment: &environment,
            folder: &folder,
            scratch: &folders.scratch,
            with_stdin: chat.is_none(),
            reader: if chat.is_some() { OutputReader::LastPart } else { OutputReader::Caller },
            output: rig.limits.subject.output,
            memory: rig.limits.subject.memory,
            isolation: quiet.as_ref(),
        };
        let packages = Packages::of(program, rig.stop)?;
        let bundled = packages::find_bundled(&packages);
        let covers = bundled.iter().map(|cli| cli.replacement(claude, &folders.reach));
        let isolation = way.isolation(&packages, covers.collect::<io::Result<_>>()?);
        let program = ProgramStart { isolation: isolation.as_ref(), ..program };
        let mut program = match Program::start(program) {
            Err(ProcessError::NoIsolation(_)) if reach != ChatReach::Sandbox => {
                // On this way, a file can't be covered by another one.
                match packages::bundled_refusal(&bundled, start.has_place(&["{claude}", "{bin}"])) {
                    Some(refusal) => return Err(refusal),
                    None => Program::start(ProgramStart { isolation: None, ..program }),
                }
            }
            started => started,
        }
        .map_err(not_started)?;
        let serving = way.serve(program.take_sockets(), chat, refused)?;
        if let Some(log) = rig.log {
            let mask = chat.map(ChatServer::mask);
            program.copy_to(log.sink(move |line| match &mask {
                Some(mask) => mask(line),
                None => line.to_owned(),
            }));
        }
        Ok((program, serving))
    }
}

impl PersonSide {
    /// Returns the last request that the chat server refused, as the end of a sentence.
    fn last_refusal(&self) -> String {
        let Self::Chat(chat) = self else { return String::new() };
        let line = chat.last_refusal();
        line.map(|line| format!("; the chat server said: {line}")).unwrap_or_default()
    }

    /// Checks that clitape's own threads are still running.
    pub(crate) fn check(&self) -> Result<(), ThreadDied> {
        match self {
            Self::Chat(chat) => chat.check(),
            Self::Editor(..) => Ok(()),
        }
    }

    /// Returns the program's last lines, with the token masked.
    pub(crate) fn last_lines(&self, program: &Program) -> Vec<String> {
        let lines = program.last_lines(LAST_LINES);
        match self {
            Self::Chat(chat) => lines.iter().map(|line| chat.masked(line)).collect(),
            Self::Editor(..) => lines,
        }
    }
}

/// Returns the error for a gateway that is not ready, without lines or hosts.
fn not_ready(why: String) -> SubjectError {
    SubjectError::NotReady { why, printed: Vec::new(), refused: Vec::new() }
}

/// Returns the error for a gateway that can't be started.
fn not_started(error: ProcessError) -> SubjectError {
    match error {
        ProcessError::NoIsolation(missing) => SubjectError::NoIsolation(missing),
        ProcessError::NotStarted { .. } | ProcessError::NoCommand => not_ready(error.to_string()),
        error => error.into(),
    }
}

/// The variables of a program whose text is ASCII; Python takes UTF-8 for its streams in this locale otherwise.
const C_LOCALE: [(&str, &str); 2] = [("LC_ALL", "C"), ("PYTHONIOENCODING", "ascii")];

/// Returns the environment of a gateway, without the variables of its way to the chat server.
fn own_environment(
    start: Start<'_>,
    folders: &StartFolders,
    places: &Places,
    log: &Path,
) -> Result<Vec<(OsString, OsString)>, SubjectError> {
    let Start { spec, playing, rig, .. } = start;
    let mut environment = environment(rig, &spec.pass_env);
    let path = std::iter::once(folders.bin.clone()).chain(std::env::split_paths(&rig.host.path));
    let path = std::env::join_paths(path).map_err(io::Error::other)?;
    let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
    set("PATH", path);
    set("HOME", folders.home.clone().into());
    set("TMPDIR", folders.temp.clone().into());
    set("CLITAPE_ROOT", root(rig)?.into());
    set("CLITAPE_LOG", log.into());
    if let Some(version) = &playing.cli {
        set("CLITAPE_VERSION", version.as_str().into());
    }
    if spec.front == Front::Chat && !spec.has_bus() {
        set("CLITAPE_FOLDER", "live".into());
    }
    if playing.sessions_are_gone {
        set("CLITAPE_SESSIONS", "gone".into());
    }
    if playing.lives_on_s > 0 {
        set("CLITAPE_END", format!("stay:{}", playing.lives_on_s * 1_000).into());
    }
    if !playing.agent_faults.is_empty() {
        set("CLITAPE_AGENT_FAULTS", playing.agent_faults.to_string().into());
    }
    if playing.c_locale {
        C_LOCALE.iter().for_each(|(name, value)| set(name, value.into()));
    }
    if spec.own_prompts {
        set("CLITAPE_OWN_PROMPTS", "answer".into());
    }
    set("CLITAPE_PLAY", playing.printing.play(playing.in_halves).into());
    for (name, value) in &spec.env {
        set(name, places.fill(value, Writing::Plain).into());
    }
    Ok(environment)
}

/// Returns the ending of a program, as the end of a sentence.
pub(crate) fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("ended with code {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
    }
}

/// Returns the folder of `clitape.toml` as an absolute path, for programs that start in other folders.
fn root(rig: RigHost<'_>) -> Result<PathBuf, SubjectError> {
    Ok(fs::canonicalize(rig.workspace.root())?)
}

/// Writes the files of a subject into its temporary folder, with their placeholders filled.
fn write_files(
    spec: &GatewaySpec,
    places: &Places,
    folder: &Path,
    root: &Path,
) -> Result<(), SubjectError> {
    for (file, template) in &spec.files {
        let template = places.fill(template, Writing::Plain);
        let text = files::read_text(&root.join(&template))?;
        let writing = if template.ends_with(".json") { Writing::Json } else { Writing::Plain };
        let path = folder.join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, places.fill(&text, writing))?;
    }
    Ok(())
}

/// Returns a port of loopback that is free at the moment.
fn free_port() -> std::io::Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?.port())
}

/// Returns the ways to try, the best one first. A gateway that gets `{bot_api}` (`has_address`) needs only that; others
/// get a network of their own, or a proxy on systems without such networks.
fn ways(spec: &GatewaySpec, has_address: bool) -> &'static [ChatReach] {
    match (spec.reach, spec.front) {
        (_, Front::Editor) | (Some(ChatReach::Address), _) => &[ChatReach::Address],
        (Some(ChatReach::Sandbox), _) => &[ChatReach::Sandbox],
        (Some(ChatReach::Proxy), _) => &[ChatReach::Proxy],
        (None, Front::Chat) if has_address => &[ChatReach::Address],
        (None, Front::Chat) => &[ChatReach::Sandbox, ChatReach::Proxy],
    }
}

/// A way to the chat server, before the gateway starts.
enum Way {
    Sandbox(NetworkSandbox),
    Proxy(ProxyWay),
    Address,
}

/// The servers that live as long as the gateway runs.
#[derive(Debug)]
enum Serving {
    Inside(InsideServers),
    Proxy(ProxyWay),
    Nothing,
}

impl Way {
    /// Makes a way, with its files in `folder`. Hosts that the gateway asks for in vain are added to `refused`.
    pub(super) fn new(
        reach: ChatReach,
        folder: &Path,
        chat: Option<&ChatServer>,
        refused: &Refused,
        limits: ChatServerLimits,
    ) -> Result<Self, ProcessError> {
        Ok(match (reach, chat) {
            (ChatReach::Sandbox, Some(chat)) => {
                Self::Sandbox(NetworkSandbox::new(folder, chat.address())?)
            }
            (ChatReach::Proxy, Some(chat)) => {
                Self::Proxy(ProxyWay::start(folder, chat, refused, limits)?)
            }
            _ => Self::Address,
        })
    }

    /// Returns the variables that lead the gateway to the chat server and make it trust the authority of the run.
    /// `environment` is its environment without them.
    fn variables(&self, environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        match self {
            Self::Sandbox(sandbox) => sandbox.authority.variables(),
            Self::Proxy(proxy) => proxy.variables(environment),
            Self::Address => Vec::new(),
        }
    }

    /// Returns the namespaces, with an empty network, for a program of the gateway that runs before the gateway starts.
    fn quiet(&self) -> Option<Isolation> {
        let network = Some(OwnNetwork::default());
        matches!(self, Self::Sandbox(_)).then(|| Isolation { network, covers: Vec::new() })
    }

    /// Returns the namespaces of the gateway, in which `covers` replace the CLIs that its SDK brings.
    fn isolation(&mut self, packages: &Packages, covers: Vec<Cover>) -> Option<Isolation> {
        let mut isolation = match self {
            Self::Sandbox(sandbox) => {
                sandbox.trust_in(&packages.python);
                sandbox.isolation.clone()
            }
            _ if covers.is_empty() => return None,
            _ => Isolation::default(),
        };
        isolation.covers.extend(covers);
        Some(isolation)
    }

    /// Serves the gateway, which has just started with these sockets.
    fn serve(
        self,
        sockets: NetworkSockets,
        chat: Option<&ChatServer>,
        refused: &Refused,
    ) -> Result<Serving, ProcessError> {
        Ok(match (self, chat) {
            (Self::Sandbox(sandbox), Some(chat)) => {
                Serving::Inside(sandbox.serve(sockets, chat, refused)?)
            }
            (Self::Proxy(proxy), _) => Serving::Proxy(proxy),
            _ => Serving::Nothing,
        })
    }
}

impl Serving {
    /// Checks that clitape's own thread is still running.
    pub(super) fn check(&self) -> Result<(), ThreadDied> {
        match self {
            Self::Proxy(proxy) => proxy.check(),
            Self::Inside(_) | Self::Nothing => Ok(()),
        }
    }

    /// Returns the way to the ports of a gateway in a network of its own.
    fn door(&self) -> Option<Arc<NetworkDoor>> {
        match self {
            Self::Inside(inside) => inside.door.clone(),
            Self::Proxy(_) | Self::Nothing => None,
        }
    }
}

/// The time between two requests.
const URL_PAUSE: Duration = Duration::from_millis(20);
/// The longest wait of one request for the connection, and for each part of the answer.
const URL_WAIT: Duration = Duration::from_millis(500);

/// Requests a URL again and again on a separate thread, because the look-up of a name, or an answer that comes byte
/// by byte, may take longer than its caller can wait. Dropping it ends the thread.
#[derive(Debug)]
struct UrlWatch {
    has_answered: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

impl UrlWatch {
    /// Starts to request a URL of this machine, or of the separate network into which `door` leads.
    pub(super) fn start(
        url: String,
        door: Option<Arc<NetworkDoor>>,
    ) -> Result<Self, NoMoreThreads> {
        let watch = Self { has_answered: Arc::default(), is_over: Arc::default() };
        let (has_answered, is_over) = (watch.has_answered.clone(), watch.is_over.clone());
        let ask = move || {
            while !is_over.load(Ordering::Relaxed) && !has_answered.load(Ordering::Relaxed) {
                let connect = |address| match &door {
                    Some(door) => door.connect(address, URL_WAIT),
                    None => TcpStream::connect_timeout(&address, URL_WAIT),
                };
                match url_answers(&url, connect) {
                    true => has_answered.store(true, Ordering::Relaxed),
                    false => std::thread::sleep(URL_PAUSE),
                }
            }
        };
        start("ready-url", ask)?;
        Ok(watch)
    }

    /// Returns whether the URL has answered with a status below 400.
    fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }
}

impl Drop for UrlWatch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Returns whether a GET of an `http://` URL is answered with a status below 400.
fn url_answers(url: &str, connect: impl Fn(SocketAddr) -> io::Result<TcpStream>) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
    let with_port =
        if address.contains(':') { address.to_owned() } else { format!("{address}:80") };
    let status = || -> Option<u16> {
        let socket = with_port.to_socket_addrs().ok()?.next()?;
        let mut stream = connect(socket).ok()?;
        stream.set_read_timeout(Some(URL_WAIT)).ok()?;
        stream.set_write_timeout(Some(URL_WAIT)).ok()?;
        let request =
            format!("GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut head = [0; 12];
        stream.read_exact(&mut head).ok()?;
        std::str::from_utf8(&head).ok()?.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()
    };
    status().is_some_and(|status| status < 400)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_url_answers_below_400() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/health", server.local_addr().unwrap());
        let answering = std::thread::spawn(move || {
            for status in ["404 Not Found", "200 OK"] {
                let (mut stream, _) = server.accept().unwrap();
                // The client closes the connection as soon as it has the status.
                let _ = stream.read(&mut [0; 512]).unwrap();
                stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).unwrap();
            }
        });
        let connect = |address: SocketAddr| TcpStream::connect(address);
        assert!(!url_answers(&url, connect));
        let (watch, begin) = (UrlWatch::start(url, None).unwrap(), Instant::now());
        while !watch.has_answered() {
            assert!(begin.elapsed() < Duration::from_secs(60));
            std::thread::sleep(URL_PAUSE);
        }
        answering.join().unwrap();
        assert!(!url_answers("https://127.0.0.1/", connect));
    }
}
