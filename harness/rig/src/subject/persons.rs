//! The persons who write to a gateway, and their chats. Their numbers are known before the gateway starts, so that its
//! list of allowed persons or chats can name them.

use super::placeholders::{Places, Writing};
use super::spec::{ChatKind, Chats, Starts, Writers};
use crate::chat_server::{ChatServer, username};

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
    pub(crate) kind: ChatKind,
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

#[cfg(test)]
mod tests {
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
}
