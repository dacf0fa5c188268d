//! The persons who write to a gateway, their chats, and the part of a chat that belongs to one run.
//!
//! The numbers of persons and chats are known before the gateway starts, so that its list of allowed ones can name
//! them. Before the first prompt a person makes the topic of the chat and does the steps of `first`. The part of a run
//! has the chat's entries since the person wrote the prompt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clitape_judge::finally_read;
use clitape_judge::observation::ObservedEnding;
use clitape_recording::chat::ChatView;
use clitape_recording::text::{Keep, truncate};
use clitape_recording::trace::Entry;
use regex::Regex;
use serde_json::Value;

use super::spec::{ChatKind, Chats, FirstStep, GatewaySpec, Places, Starts, Writers, Writing};
use crate::chat_server::{CallFault, ChatServer, PersonError, PersonText, PressTarget, username};

/// The person of the warm-up. Those of the recordings have the next numbers.
const WARM_UP: i64 = 7_000_001;
/// The person of the first recording, or of all of them.
const FIRST: i64 = WARM_UP + 1;
/// The number of the group of person 0; Telegram's supergroups begin with -100.
const GROUP: i64 = -1_000_000_000_000;

/// The place of one recording: a person in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seat {
    /// The number of the person.
    pub(crate) person: i64,
    /// The number of the chat.
    pub(crate) chat: i64,
    /// The number of the seat; recordings with the same number share the person and the chat.
    pub(crate) number: i64,
    /// The kind of the chat.
    kind: ChatKind,
}

/// The seats of all recordings of a run, which are the same at each start of the gateway.
#[derive(Debug, Clone)]
pub(crate) struct Persons {
    kind: ChatKind,
    is_one: bool,
    jobs: usize,
    has_warm_up: bool,
}

impl Persons {
    /// Creates the seats for this number of recordings.
    pub(crate) fn new(writers: &Writers, jobs: usize, has_warm_up: bool) -> Self {
        // A start that serves one recording has one person.
        let is_one = writers.chats == Chats::One || writers.starts == Starts::Each;
        Self { kind: writers.chat, is_one, jobs, has_warm_up }
    }

    /// Returns the seat of the recording with this index.
    pub(crate) fn seat(&self, index: usize) -> Seat {
        self.of(FIRST + i64::try_from(index).unwrap_or(0))
    }

    /// Returns the seat of the warm-up.
    pub(crate) fn warm_up(&self) -> Seat {
        self.of(WARM_UP)
    }

    /// Returns the number of seats that recordings have.
    pub(crate) fn seats(&self) -> usize {
        if self.is_one { 1 } else { self.jobs }
    }

    /// Returns the seat that would have this number if each recording had its own.
    fn of(&self, number: i64) -> Seat {
        let number = if self.is_one { FIRST } else { number };
        // All topics of a forum belong to one person.
        let person = if self.kind == ChatKind::Topic { FIRST } else { number };
        let chat = if self.kind == ChatKind::Private { person } else { GROUP - person };
        Seat { person, chat, number, kind: self.kind }
    }

    /// Returns all seats, each once, the first recording's first.
    fn all(&self) -> Vec<Seat> {
        let recordings = (0..self.seats().max(1)).map(|index| self.seat(index));
        let warm_up = (self.has_warm_up && !self.is_one).then(|| self.warm_up());
        recordings.chain(warm_up).collect()
    }

    /// Makes the chats before the gateway starts, because on Telegram a bot knows a chat's number only after the person
    /// has written to it, or has added it to the group.
    pub(crate) fn open(&self, server: &ChatServer) {
        for seat in self.all() {
            // A chat beyond the limit is reported when the person writes in it.
            let _ = match seat.kind {
                ChatKind::Private => server.open(seat.chat),
                kind => server.open_group(seat.chat, seat.person, kind == ChatKind::Topic),
            };
        }
    }

    /// Sets the placeholders for lists of allowed persons and chats.
    pub(crate) fn set_places(&self, places: &mut Places) {
        let all = self.all();
        let list = |of: &dyn Fn(&Seat) -> String| {
            let mut texts: Vec<String> = all.iter().map(of).collect();
            texts.sort();
            texts.dedup();
            texts.join(",")
        };
        let first = all[0];
        places.set("persons", list(&|seat| seat.person.to_string()));
        places.set("usernames", list(&|seat| username(seat.person)));
        places.set("chats", list(&|seat| seat.chat.to_string()));
        first.set_places(places);
    }
}

impl Seat {
    fn set_places(&self, places: &mut Places) {
        places.set("person", self.person.to_string());
        places.set("username", username(self.person));
        places.set("chat", self.chat.to_string());
    }

    /// Returns a text with the placeholders of a start filled, of which `{person}`, `{username}` and `{chat}` are those
    /// of this seat.
    pub(crate) fn fill(&self, text: &str, start: &Places) -> String {
        let mut places = Places::default();
        self.set_places(&mut places);
        places.add(start);
        places.fill(text, Writing::Plain)
    }
}

/// The time without a call before the next step.
const QUIET: Duration = Duration::from_secs(1);
/// The longest wait for the answer to a step; some commands have no answer.
const ANSWER: Duration = Duration::from_secs(10);
/// The longest wait for a button that a step presses.
const BUTTON: Duration = Duration::from_secs(15);
/// The time without a call before a run begins, and the longest wait for it.
const SETTLED: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(30));
/// The time between two looks at a chat.
const CHAT_LOOK: Duration = Duration::from_millis(50);

/// The chats of one start in which the person has done the first steps.
#[derive(Debug, Default)]
pub(crate) struct OpenedChats(Mutex<BTreeMap<i64, FirstStepsResult>>);

/// The result of the first steps in a chat.
#[derive(Debug, Clone)]
struct FirstStepsResult {
    topic: Option<i64>,
    /// The last words of the chat after the steps, in quotes.
    words: Option<String>,
    /// The ending of the run, if a step could not be done.
    failed: Option<ObservedEnding>,
}

impl OpenedChats {
    fn get(&self, seat: Seat) -> Option<FirstStepsResult> {
        // A poisoned lock is safe: reading and setting a value can't panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&seat.number).cloned()
    }

    fn set(&self, seat: Seat, opened: FirstStepsResult) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(seat.number, opened);
    }
}

/// A chat in which a recording can't begin.
#[derive(Debug)]
pub(crate) struct NotOpened {
    /// The ending of the run; `None` if the caller stops it.
    pub(crate) ending: Option<ObservedEnding>,
    /// The entries of the chat.
    pub(crate) entries: Vec<Entry>,
}

impl From<Option<ObservedEnding>> for NotOpened {
    fn from(ending: Option<ObservedEnding>) -> Self {
        Self { ending, entries: Vec::new() }
    }
}

/// A check that the start still goes on. The error is the ending of the gateway, or `None` if the caller stops the
/// runs.
type GoesOn<'a> = &'a dyn Fn() -> Result<(), Option<ObservedEnding>>;

/// A chat in which a recording can begin.
#[derive(Debug)]
pub(crate) struct OpenedChat<'a> {
    /// The part of the chat for the recording.
    pub(crate) part: ChatPart<'a>,
    /// The last words of the chat after the steps of `first`, in quotes.
    pub(crate) words: Option<String>,
}

/// Does the first steps in a chat, once for each start of the gateway, and waits until the chat is quiet, unless the
/// person writes in the middle of a turn.
///
/// # Errors
///
/// [`NotOpened`] if a step can't be done, if the gateway has ended, or if the caller stops it.
pub(crate) fn open_chat<'a>(
    server: &'a ChatServer,
    places: &'a Places,
    seat: Seat,
    spec: &GatewaySpec,
    chats: &OpenedChats,
    is_in_turn: bool,
    goes_on: GoesOn<'_>,
) -> Result<OpenedChat<'a>, NotOpened> {
    if !is_in_turn {
        settle(server, seat, goes_on)?;
    }
    let opened = match chats.get(seat) {
        Some(opened) => opened,
        None => {
            let topic = match seat.kind {
                ChatKind::Topic => {
                    server.make_topic(seat.chat, &format!("Recording {}", seat.number)).ok()
                }
                ChatKind::Private | ChatKind::Group => None,
            };
            // The whole chat is watched, because the bot may answer in a topic that it makes.
            let whole = ChatPart::new(server, places, seat, None);
            let written = ChatPart::new(server, places, seat, topic);
            let steps = spec.writers.first.iter();
            let done = steps.map(|step| take_step(step, &whole, &written, goes_on));
            let failed = match done.collect::<Result<Vec<()>, _>>() {
                Ok(_) => None,
                Err(ending) => ending.map(Some).ok_or(None::<ObservedEnding>)?,
            };
            let topic = whole.new_topics().pop().filter(|_| topic.is_some()).or(topic);
            let opened = FirstStepsResult { topic, words: last_words(&whole.entries()), failed };
            chats.set(seat, opened.clone());
            if let Some(ending) = opened.failed {
                return Err(NotOpened { ending: Some(ending), entries: whole.entries() });
            }
            opened
        }
    };
    match opened.failed {
        Some(ending) => Err(Some(ending).into()),
        None => Ok(OpenedChat {
            part: ChatPart::new(server, places, seat, opened.topic),
            words: opened.words,
        }),
    }
}

/// Waits until no call of the chat is under way, and the last call, typing signals aside, is a moment ago.
fn settle(
    server: &ChatServer,
    seat: Seat,
    goes_on: GoesOn<'_>,
) -> Result<(), Option<ObservedEnding>> {
    let (quiet, most) = SETTLED;
    let quiet = u64::try_from(quiet.as_millis()).unwrap_or(u64::MAX);
    let is_quiet = || {
        server.last_call(seat.chat).is_none_or(|last| {
            let is_old = server.now_ms().saturating_sub(last.at_ms) >= quiet;
            last.under_way == 0 && (is_old || last.kind == TYPING)
        })
    };
    wait(goes_on, most, || is_quiet().then_some(())).map(drop)
}

/// Does a step, and waits until the chat has an answer and is quiet.
fn take_step(
    step: &FirstStep,
    whole: &ChatPart<'_>,
    written: &ChatPart<'_>,
    goes_on: GoesOn<'_>,
) -> Result<(), Option<ObservedEnding>> {
    let known = match step {
        FirstStep::Say(text) => {
            let known = whole.entries().len();
            // A full chat has no answer either.
            let _ = written.say(&written.fill(text));
            known
        }
        FirstStep::Press(label) => {
            let find = || {
                let buttons = buttons(&whole.entries()).into_iter();
                let wanted = buttons.filter(|(_, button)| label.is_match(button));
                wanted.max_by_key(|(id, _)| *id)
            };
            let Some((id, button)) = wait(goes_on, BUTTON, find)? else {
                let says = match last_words(&whole.entries()) {
                    Some(words) => format!("it says {words}"),
                    None => "it has no message".to_owned(),
                };
                return Err(Some(ObservedEnding::Hung {
                    waited_s: BUTTON.as_secs(),
                    waited_for: format!(
                        "no button in the chat matches `{label}` of `first`; {says}"
                    ),
                    last_words: String::new(),
                }));
            };
            let known = whole.entries().len();
            let target = i64::try_from(id).map_or(PressTarget::Last, PressTarget::Message);
            let _ = whole.press(target, &button);
            known
        }
    };
    let mut last = (0, Instant::now());
    let is_answered = || {
        let entries = whole.entries();
        let new = entries.get(known..).unwrap_or_default();
        let calls = || new.iter().filter(|entry| is_answer(&entry.kind));
        let is_done = calls().all(|entry| entry.field("took_ms").is_some());
        if last.0 != calls().count() {
            last = (calls().count(), Instant::now());
        }
        (last.0 > 0 && is_done && last.1.elapsed() >= QUIET).then_some(())
    };
    wait(goes_on, ANSWER, is_answered).map(drop)
}

/// Returns whether a call of this kind answers a person.
fn is_answer(kind: &str) -> bool {
    kind != TYPING && !kind.starts_with('(')
}

/// Looks for something repeatedly for a time; `None` if it does not come. The error is that of [`GoesOn`].
fn wait<T>(
    goes_on: GoesOn<'_>,
    most: Duration,
    mut find: impl FnMut() -> Option<T>,
) -> Result<Option<T>, Option<ObservedEnding>> {
    let begin = Instant::now();
    loop {
        goes_on()?;
        match find() {
            Some(found) => return Ok(Some(found)),
            None if begin.elapsed() >= most => return Ok(None),
            None => std::thread::sleep(CHAT_LOOK),
        }
    }
}

/// The call that shows that the bot types; a gateway repeats it while a run lasts.
const TYPING: &str = "sendChatAction";
/// The characters that a sentence quotes from a chat.
const QUOTE: usize = 160;
/// The most labels of buttons that it quotes.
const LABELS: usize = 8;

/// The part of a chat that belongs to one run.
#[derive(Debug, Clone)]
pub(crate) struct ChatPart<'a> {
    server: &'a ChatServer,
    /// The placeholders of the start, with their values.
    places: &'a Places,
    seat: Seat,
    topic: Option<i64>,
    /// The number of entries of the chat before this part.
    known: usize,
    /// The messages of the bot before this part. Entries about them belong to an earlier run.
    before: BTreeSet<i64>,
}

impl<'a> ChatPart<'a> {
    /// Begins a part at the present end of the chat.
    pub(crate) fn new(
        server: &'a ChatServer,
        places: &'a Places,
        seat: Seat,
        topic: Option<i64>,
    ) -> Self {
        let mut part = Self { server, places, seat, topic, known: 0, before: BTreeSet::new() };
        part.begin();
        part
    }

    /// Moves the start of the part to the present end of the chat.
    pub(crate) fn begin(&mut self) {
        let entries = self.server.entries_after(self.seat.chat, 0);
        self.before = entries.iter().filter(|entry| sends(entry)).filter_map(number).collect();
        self.known = entries.len();
    }

    /// Returns a text of the settings with its placeholders filled, as this person writes it.
    pub(crate) fn fill(&self, text: &str) -> String {
        self.seat.fill(text, self.places)
    }

    /// Returns whether the gateway reads messages: it asks for updates, or has set a webhook.
    pub(crate) fn is_read(&self) -> bool {
        self.server.polled()
    }

    /// Writes a text as the person, in the topic if there is one.
    pub(crate) fn say(&self, text: &str) -> Result<(), PersonError> {
        self.write(PersonText::of(text, None))
    }

    /// Writes a reply or an album as the person, in the topic if there is one.
    pub(crate) fn write(&self, written: PersonText<'_>) -> Result<(), PersonError> {
        self.server.write(self.seat.chat, PersonText { topic: self.topic, ..written }).map(drop)
    }

    /// Edits the person's first message in this part.
    pub(crate) fn edit_first(&self, text: &str) {
        let entries = self.entries();
        let first = entries.iter().find_map(|entry| entry.field("user_message_id")?.as_i64());
        // A message that the person has written can be edited.
        let _ = first.map(|number| self.server.edit(self.seat.chat, number, text));
    }

    /// Returns the number of the bot's last message before this part.
    pub(crate) fn last_before(&self) -> Option<i64> {
        let view = ChatView::after(&self.server.entries_after(self.seat.chat, 0)[..self.known]);
        let numbers = view.numbered().filter_map(|(id, _)| i64::try_from(id).ok());
        numbers.filter(|id| self.before.contains(id)).max()
    }

    /// Lets the next call of the chat fail.
    pub(crate) fn fail_next(&self, fault: CallFault) {
        self.server.fail_next(self.seat.chat, fault);
    }

    /// Presses a button as the person.
    pub(crate) fn press(&self, target: PressTarget, label: &str) -> Result<(), PersonError> {
        self.server.press(self.seat.chat, target, label)
    }

    /// Returns the entries of this part; `at` counts from the person's first message in it.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let entries = self.server.entries_after(self.seat.chat, self.known);
        own_entries(entries, self.topic, &self.before)
    }

    /// Returns the topics that the bot made in this part.
    fn new_topics(&self) -> Vec<i64> {
        let entries = self.server.entries_after(self.seat.chat, self.known);
        let made = entries.iter().filter(|entry| entry.kind == "createForumTopic");
        made.filter(|entry| entry.is_shown()).filter_map(topic).collect()
    }
}

/// Returns whether an entry adds a message.
fn sends(entry: &Entry) -> bool {
    entry.kind.starts_with("send") && entry.field("message_id").is_some()
}

/// Returns the number of the message that an entry is about.
fn number(entry: &Entry) -> Option<i64> {
    entry.field("message_id").and_then(Value::as_i64)
}

fn topic(entry: &Entry) -> Option<i64> {
    entry.field("topic").and_then(Value::as_i64)
}

/// Keeps the entries that belong to the topic, if there is one, and that are not about earlier messages.
fn own_entries(mut entries: Vec<Entry>, of: Option<i64>, before: &BTreeSet<i64>) -> Vec<Entry> {
    let mut in_topic = BTreeSet::new();
    entries.retain(|entry| {
        let id = number(entry);
        if id.is_some_and(|id| before.contains(&id)) {
            return false;
        }
        if of.is_none() {
            return true;
        }
        if topic(entry).is_some() {
            let is_own = topic(entry) == of;
            in_topic.extend(id.filter(|_| is_own));
            return is_own;
        }
        let several = entry.field("message_ids").and_then(Value::as_array).into_iter().flatten();
        id.into_iter().chain(several.filter_map(Value::as_i64)).any(|id| in_topic.contains(&id))
    });
    if of.is_some() {
        // The number of a topic differs from run to run.
        entries.iter_mut().for_each(|entry| drop(entry.data_mut().shift_remove("topic")));
    }
    entries
}

/// Returns the buttons of a chat, each with the number of its message, the oldest first.
pub(crate) fn buttons(entries: &[Entry]) -> Vec<(u64, String)> {
    let view = ChatView::after(entries);
    let of = view.numbered().flat_map(|(id, message)| {
        message.buttons.iter().flatten().map(move |label| (id, label.clone()))
    });
    of.collect()
}

/// Returns the last words in a chat: the text and the buttons of the bot's newest message.
pub(crate) fn last_words(entries: &[Entry]) -> Option<String> {
    let text = finally_read(entries).pop()?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let view = ChatView::after(entries);
    let buttons = view.messages().next_back().into_iter().flat_map(|last| last.buttons.iter());
    let buttons = buttons.flatten().take(LABELS).map(|label| format!(" [{label}]"));
    Some(format!("“{}”{}", truncate(&text, QUOTE, Keep::Start), buttons.collect::<String>()))
}

/// Returns whether the words of a chat say that a message waits for others.
pub(crate) fn says_that_it_waits(words: &str) -> bool {
    #[allow(clippy::expect_used, reason = "the expression is constant")]
    static WAITS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\bqueue|\bposition\b|\bwait(ing)?\b|\bahead\b|\bbusy\b")
            .expect("it is a regular expression")
    });
    WAITS.is_match(words)
}

#[cfg(test)]
pub(super) mod tests {
    use clitape_recording::trace::Lane;

    use super::*;

    #[track_caller]
    fn check(settings: (ChatKind, Chats, Starts), has_warm_up: bool, expect: [&str; 6]) {
        let (chat, chats, starts) = settings;
        let writers = Writers { chats, chat, starts, first: Vec::new() };
        let persons = Persons::new(&writers, 3, has_warm_up);
        let mut places = Places::default();
        persons.set_places(&mut places);
        let text = "{person}|{persons}|{username}|{usernames}|{chat}|{chats}";
        assert_eq!(places.fill(text, Writing::Plain).split('|').collect::<Vec<_>>(), expect);
        // The form in which a JSON file has a list of numbers.
        let list = places.fill("[{persons}]", Writing::Json);
        assert!(serde_json::from_str::<Vec<i64>>(&list).is_ok(), "{list}");
        // Every seat is in the lists.
        let seats = (0..3).map(|index| persons.seat(index));
        for seat in seats.chain(has_warm_up.then(|| persons.warm_up())) {
            assert!(expect[1].contains(&seat.person.to_string()), "{seat:?}");
            assert!(expect[5].contains(&seat.chat.to_string()), "{seat:?}");
        }
    }

    #[test]
    fn placeholders_list_the_persons_and_chats_of_a_run() {
        use {ChatKind::*, Chats as C, Starts as S};
        let one = ["7000002", "7000002", "person7000002", "person7000002", "7000002", "7000002"];
        check(
            (Private, C::Each, S::One),
            true,
            [
                "7000002",
                "7000001,7000002,7000003,7000004",
                "person7000002",
                "person7000001,person7000002,person7000003,person7000004",
                "7000002",
                "7000001,7000002,7000003,7000004",
            ],
        );
        check((Private, C::One, S::One), true, one);
        check((Private, C::Each, S::Each), true, one);
        let group = "-1000007000002";
        check(
            (Group, C::Each, S::One),
            false,
            [
                "7000002",
                "7000002,7000003,7000004",
                "person7000002",
                "person7000002,person7000003,person7000004",
                group,
                "-1000007000002,-1000007000003,-1000007000004",
            ],
        );
        let in_group = ["7000002", "7000002", "person7000002", "person7000002", group, group];
        check((Group, C::One, S::One), true, in_group);
        // One group, with a topic for each recording.
        check((Topic, C::Each, S::One), true, in_group);
        let writers = Writers { chat: Topic, ..Writers::default() };
        let persons = Persons::new(&writers, 3, false);
        assert_ne!(persons.seat(0).number, persons.seat(1).number);
    }

    /// Makes entries of a lane at 1 ms, each from a line `KIND DATA`.
    pub(in crate::subject) fn entries_of(lane: Lane, lines: &[&str]) -> Vec<Entry> {
        let entry = |line: &&str| {
            let (kind, data) = line.split_once(' ').unwrap();
            let line = format!(r#"{{"at":1,"lane":"{lane}","kind":"{kind}","data":{data}}}"#);
            serde_json::from_str(&line).unwrap()
        };
        lines.iter().map(entry).collect()
    }

    #[track_caller]
    fn check_part(lines: &[&str], topic: Option<i64>, before: &[i64], expect: &[usize]) {
        let all = entries_of(Lane::Telegram, lines);
        let own = own_entries(all.clone(), topic, &before.iter().copied().collect());
        let kinds = |entries: &[Entry]| -> Vec<(String, Option<i64>)> {
            entries.iter().map(|entry| (entry.kind.to_string(), number(entry))).collect()
        };
        let expect: Vec<Entry> = expect.iter().map(|at| all[*at].clone()).collect();
        assert_eq!(kinds(&own), kinds(&expect));
    }

    #[test]
    fn late_calls_of_the_run_before_are_left_out() {
        let lines = [
            r#"(user) {"text":"a","user_message_id":3}"#,
            r#"editMessageText {"message_id":2,"text":"late"}"#,
            r#"sendMessage {"message_id":4,"text":"b"}"#,
            r#"sendChatAction {"action":"typing"}"#,
            r#"editMessageText {"message_id":4,"text":"c"}"#,
        ];
        check_part(&lines, None, &[2], &[0, 2, 3, 4]);
        check_part(&lines, None, &[], &[0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_topic_has_its_own_messages() {
        let lines = [
            r#"(user) {"text":"a","user_message_id":3,"topic":9}"#,
            r#"sendMessage {"message_id":4,"text":"b","topic":9}"#,
            r#"sendMessage {"message_id":5,"text":"b","topic":8}"#,
            r#"editMessageText {"message_id":4,"text":"c"}"#,
            r#"editMessageText {"message_id":5,"text":"c"}"#,
            r#"sendChatAction {"action":"typing","topic":9}"#,
            r#"sendChatAction {"action":"typing"}"#,
            r#"(press) {"message_id":4,"label":"x"}"#,
            r#"deleteMessages {"message_ids":[4,5]}"#,
        ];
        check_part(&lines, Some(9), &[], &[0, 1, 3, 5, 7, 8]);
    }

    #[test]
    fn the_last_words_of_a_chat_are_its_newest_message_with_buttons() {
        let lines = [
            r#"sendMessage {"message_id":4,"text":"first"}"#,
            r#"sendMessage {"message_id":5,"text":"<b>Choose</b>\n one","parse_mode":"HTML","buttons":[["a","b"]]}"#,
        ];
        assert_eq!(
            last_words(&entries_of(Lane::Telegram, &lines)).unwrap(),
            "“Choose one” [a] [b]"
        );
        assert_eq!(last_words(&[]), None);
    }
}
