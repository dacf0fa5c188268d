//! A cassette that is being played: its bytes, with the ids of the live session and the changes for this host, and
//! their schedule by `CLITAPE_PLAY`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use clitape_recording::cassette::canon::MachineFolder;
use clitape_recording::cassette::{Cassette, TickKind};
use clitape_recording::files;
use clitape_recording::scenario::RunSpec;
use clitape_recording::wire::{ControlRequest, RequestKind, UserMessage, WireLine};
use clitape_runner::replay::Plan;

use super::adapt::{
    HostFacts, HostTurn, LineChange, LiveIds, MessagePieces, Rendered, change, denied_unasked,
    hook_id,
};
use super::agent_faults::{CliFault, FaultyPrint, LineParts, cut_at};
use super::arguments::Asks;
use super::dialogue::{Dialogue, ExpectedKind, HostAct, Role};
use super::lockstep::{LineFit, Lockstep};
use super::mcp::Ask;
use super::process::StandInError;
use crate::limits::Held;

/// The option that makes messages come in pieces.
const PIECES: &str = "--include-partial-messages";

/// A cassette that is being played.
#[derive(Debug)]
pub(super) struct PlayedCassette {
    pub(super) cassette: Cassette,
    pub(super) dialogue: Rc<Dialogue>,
    pub(super) lockstep: Lockstep,
    pub(super) schedule: Schedule,
    pub(super) ids: LiveIds,
    /// The messages of the host, by index in [`Dialogue::awaits`].
    turns: BTreeMap<usize, HostTurn>,
    /// The message for which a one-shot cassette is played.
    first: Option<HostTurn>,
    /// The faults of what is printed.
    faulty: FaultyPrint,
    /// The number of recorded bytes after which the process is killed.
    pub(super) cut_at: Option<usize>,
    /// The index of the line that is being printed, with its rendered form.
    rendered: Option<(usize, Rendered)>,
    /// The maker of pieces of messages, for a host that asks for them if the recording has none.
    pieces: Option<MessagePieces>,
    /// The parts of the account that belong to the accepted lines of the host.
    pub(super) held: Vec<Held>,
}

/// The bytes that are printed for a range of the recorded ones.
#[derive(Debug, Default)]
pub(super) struct PlayedBytes {
    /// The bytes to print.
    pub(super) bytes: Vec<u8>,
    /// True if the first byte of a `result` line is in the range.
    pub(super) begins_result: bool,
    /// True if the last byte of a `result` line is in the range.
    pub(super) ends_result: bool,
    /// The permission questions that end in the range, for a host that has a tool for them.
    pub(super) asks: Vec<Ask>,
}

impl PlayedCassette {
    /// Starts a cassette. A one-shot cassette gets `message`, the message of the host for which it is played.
    pub(super) fn new(
        cassette: Cassette,
        dialogue: Dialogue,
        play: Option<&str>,
        faults: Vec<CliFault>,
        round: u64,
        host: &HostFacts,
        message: Option<UserMessage>,
    ) -> Result<Self, StandInError> {
        let cut_at = cut_at(&cassette).filter(|_| faults.contains(&CliFault::Cut));
        let faulty = FaultyPrint::new(faults, dialogue.lines.len());
        let dialogue = Rc::new(dialogue);
        let schedule = Schedule::new(&cassette, &dialogue, play)?;
        let mut ids = LiveIds::new(round);
        if let Some(session) = &dialogue.session_id {
            if *session != host.session_id {
                ids = ids.of_session(&host.session_id);
            }
            ids.bind(session, &host.session_id);
        }
        if let Some(folder) = &host.folder {
            ids.bind(MachineFolder::Project.path(), folder);
        }
        let mut lockstep = Lockstep::new(Rc::clone(&dialogue));
        if host.is_initialized {
            lockstep.fit(true, &host.hooks);
        }
        match &host.asks {
            Asks::Nobody => lockstep.ask_nobody(),
            Asks::Tool { .. } => lockstep.ask_elsewhere(),
            Asks::Host => {}
        }
        let first = message.map(HostTurn::new);
        let argv = &cassette.manifest.cli.argv;
        let has_pieces = dialogue.has_pieces() || argv.iter().any(|argument| argument == PIECES);
        let pieces = (host.wants_pieces && !has_pieces).then(MessagePieces::default);
        Ok(Self {
            cassette,
            dialogue,
            lockstep,
            schedule,
            ids,
            turns: BTreeMap::new(),
            first,
            faulty,
            cut_at,
            rendered: None,
            pieces,
            held: Vec::new(),
        })
    }

    /// Returns the name and the version, `NAME/VERSION`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.cassette.manifest.scenario, self.cassette.version())
    }

    /// Matches a line of the host with the cassette, and binds its ids if it fits.
    pub(super) fn hear(&mut self, act: HostAct) -> LineFit {
        let act = match act {
            HostAct::Answer { mut answer, line } => {
                answer.request_id = self.ids.recorded(&answer.request_id);
                HostAct::Answer { answer, line }
            }
            act => act,
        };
        let heard = self.lockstep.hear(&act);
        if let LineFit::Taken(index) = heard {
            let kind = self.dialogue.awaits[index].kind.clone();
            self.bind(index, &kind, act);
        }
        heard
    }

    /// Binds the recorded ids to those of a line of the host.
    fn bind(&mut self, index: usize, kind: &ExpectedKind, act: HostAct) {
        match (kind, act) {
            (ExpectedKind::Message { uuid, .. }, HostAct::Message(message)) => {
                let turn = HostTurn::new(message);
                if let Some(recorded) = uuid {
                    self.ids.bind(recorded, &turn.uuid);
                }
                self.turns.insert(index, turn);
            }
            (
                ExpectedKind::Initialize { request_id } | ExpectedKind::Request { request_id, .. },
                HostAct::Request(ControlRequest { request_id: live, .. }),
            ) => self.ids.bind(request_id, &live),
            _ => {}
        }
    }

    /// Returns the number of messages that the CLI has read.
    pub(super) fn messages_read(&self) -> usize {
        let Some(last) = self.lockstep.message() else { return 0 };
        let read = self.dialogue.awaits[..=last].iter();
        read.filter(|expected| matches!(expected.kind, ExpectedKind::Message { .. })).count()
    }

    /// Returns the message that began the present turn.
    pub(super) fn message(&self) -> Option<&UserMessage> {
        let turn = self.lockstep.message().and_then(|index| self.turns.get(&index));
        turn.or(self.first.as_ref()).map(|turn| &turn.message)
    }

    /// Returns the bytes to print for a range of the recorded ones, and advances the lockstep to its end. Ranges must
    /// follow one another.
    pub(super) fn print(&mut self, range: Range<usize>, host: &HostFacts) -> PlayedBytes {
        let mut printed = PlayedBytes::default();
        let mut index = self.dialogue.lines.partition_point(|line| line.range.end <= range.start);
        while let Some(line) = self.dialogue.lines.get(index) {
            let own = line.range.clone();
            if own.start >= range.end {
                break;
            }
            let line = line.clone();
            let is_result = line.role == Role::Result;
            let (from, to) =
                (range.start.max(own.start) - own.start, range.end.min(own.end) - own.start);
            if self.rendered.as_ref().is_none_or(|(of, _)| *of != index) {
                self.rendered = Some((index, self.render(index, host)));
            }
            if let Some((_, rendered)) = &self.rendered {
                let bytes = &rendered.bytes[rendered.position(from)..rendered.position(to)];
                printed.bytes.extend_from_slice(bytes);
            }
            printed.begins_result |= is_result && from == 0;
            printed.ends_result |= is_result && to == own.len();
            if let (Asks::Tool { .. }, Role::Question(question)) = (&host.asks, &line.role)
                && question.asks_permission
                && to == own.len()
            {
                let line = self.ids.bind_text(&self.cassette.stdout[own]);
                if let Some(WireLine::Request(request)) = WireLine::read(&line)
                    && let RequestKind::Permission(bound) = request.kind
                {
                    let request_id = question.request_id.clone();
                    printed.asks.push(Ask { request_id, question: bound });
                }
            }
            index += 1;
        }
        self.lockstep.printed(range.end);
        printed
    }

    /// Renders a line for this host.
    fn render(&mut self, index: usize, host: &HostFacts) -> Rendered {
        let line = &self.dialogue.lines[index];
        let bytes = &self.cassette.stdout[line.range.clone()];
        let answers = self.dialogue.awaits.iter().enumerate().any(|(index, expected)| {
            matches!(expected.kind, ExpectedKind::Initialize { .. })
                && self.lockstep.heard(index).is_some()
        });
        let current = self.lockstep.message();
        let turn = match current.and_then(|index| self.turns.get_mut(&index)) {
            Some(turn) => Some(turn),
            None => self.first.as_mut(),
        };
        let (before, after) =
            match change(&self.cassette, &self.dialogue, index, host, answers, turn) {
                LineChange::LeaveOut => return Rendered::nothing(bytes.len()),
                LineChange::Around(before, after) => (before, after),
            };
        let (before, after) = match &mut self.pieces {
            Some(pieces) => {
                let bound = self.ids.bind_text(bytes);
                let (first, last) = pieces.around(&bound, &host.session_id);
                ([before, first.into_bytes()].concat(), [last.into_bytes(), after].concat())
            }
            None => (before, after),
        };
        if let Some(answer) = self.echoed(&line.role) {
            let length = bytes.trim_ascii_end().len();
            let splices = vec![(0..length, answer)];
            return Rendered::new(bytes, before, splices, &after);
        }
        let (denied, reasons) = denied_unasked(&self.cassette, &self.dialogue, bytes, host);
        let before = [denied, before].concat();
        let mut splices = self.ids.splices(bytes);
        splices.retain(|(id, _)| {
            reasons.iter().all(|(reason, _)| id.end <= reason.start || reason.end <= id.start)
        });
        splices.extend(reasons);
        splices.sort_by_key(|(range, _)| range.start);
        if let Some((range, id)) = hook_id(bytes, &line.role, host) {
            splices.retain(|(other, _)| other.end <= range.start || range.end <= other.start);
            splices.push((range, id));
            splices.sort_by_key(|(range, _)| range.start);
        }
        let parts = LineParts { before, splices, after };
        let LineParts { before, splices, after } =
            self.faulty.spoil(index, &line.role, bytes, parts);
        Rendered::new(bytes, before, splices, &after)
    }

    /// Returns the host's line that the CLI prints again, if this is such a line.
    fn echoed(&self, role: &Role) -> Option<Vec<u8>> {
        let Role::Echo { request_id } = role else { return None };
        let mut heard =
            (0..self.dialogue.awaits.len()).filter_map(|index| self.lockstep.heard(index));
        heard.find_map(|act| match act {
            HostAct::Answer { answer, line } if answer.request_id == *request_id => {
                Some(line.clone())
            }
            _ => None,
        })
    }
}

/// The end of a value of `CLITAPE_PLAY` with which each line comes in two pieces.
pub(crate) const HALVES: &str = ",halves";
/// The milliseconds between the two pieces of a line, and between those of a result, in which a chat's call may come.
const HALVES_MS: (u64, u64) = (5, 100);

/// The pieces of a cassette, and the time that the CLI takes to end after them.
#[derive(Debug)]
pub(super) struct Schedule {
    /// The milliseconds since the piece before, and the end of the piece.
    pieces: Vec<(u64, usize)>,
    /// The index of the next piece.
    next: usize,
    /// The milliseconds between the last byte and the end of the process.
    pub(super) exit_ms: u64,
    /// True if each line comes in two pieces.
    pub(super) in_halves: bool,
}

impl Schedule {
    /// Makes the schedule of a cassette from the value of `CLITAPE_PLAY`.
    pub(super) fn new(
        cassette: &Cassette,
        dialogue: &Dialogue,
        play: Option<&str>,
    ) -> Result<Self, StandInError> {
        let total = cassette.stdout.len() as u64;
        let play = play.unwrap_or("recorded");
        let (play, in_halves) =
            play.strip_suffix(HALVES).map_or((play, false), |play| (play, true));
        let (plan, is_recorded) = match play.split_once(':') {
            None if play == "recorded" => (Plan::recorded(&cassette.timeline), true),
            None if play == "canonical" => {
                (Plan::canonical(&cassette.stdout, RunSpec::default().pace_ms), false)
            }
            None if play == "instant" => (Plan::at_once(total), false),
            Some(("pace", pace)) => match pace.parse() {
                Ok(pace) => (Plan::canonical(&cassette.stdout, pace), false),
                Err(_) => return Err(StandInError::Play(play.to_owned())),
            },
            Some(("seed", seed)) => match seed.parse() {
                Ok(seed) => (Plan::seeded(&cassette.stdout, seed), false),
                Err(_) => return Err(StandInError::Play(play.to_owned())),
            },
            Some(("plan", path)) => {
                let text = files::read_named_text(Path::new(path))?;
                let plan = Plan::parse(&text, total).and_then(Plan::without_agent_faults);
                let path = path.into();
                (plan.map_err(|error| StandInError::Plan { path, error })?, false)
            }
            _ => return Err(StandInError::Play(play.to_owned())),
        };
        let mut end = 0_usize;
        let pieces = plan.steps.iter().map(|step| {
            end = end.saturating_add(usize::try_from(step.bytes).unwrap_or(usize::MAX));
            (step.after_ms, end)
        });
        let last = cassette.timeline.last().filter(|tick| matches!(tick.kind, TickKind::Exit(_)));
        let exit_ms = last.filter(|_| is_recorded).map_or(0, |tick| tick.after_ms);
        let pieces: Vec<(u64, usize)> = pieces.collect();
        let pieces = if in_halves { halved(&pieces, dialogue) } else { pieces };
        Ok(Self { pieces, next: 0, exit_ms, in_halves })
    }

    /// Returns the delay and the end of the piece that begins at `from`; the end is at most `limit`.
    pub(super) fn piece(&mut self, from: usize, limit: usize) -> (u64, usize) {
        let mut after_ms = 0;
        while let Some((wait, end)) = self.pieces.get_mut(self.next) {
            // The delay counts once: the rest of a piece that was cut at a line of the host comes without one.
            after_ms += std::mem::take(wait);
            if *end > from {
                return (after_ms, (*end).min(limit));
            }
            self.next += 1;
        }
        (after_ms, limit)
    }

    /// Returns the sum of the delays behind the last byte.
    pub(super) fn rest_ms(&mut self) -> u64 {
        let rest = self.pieces.iter_mut().skip(self.next);
        rest.map(|(wait, _)| std::mem::take(wait)).sum()
    }
}

/// Cuts pieces so that each line comes in two, with a pause in its middle, and ends with a piece.
fn halved(pieces: &[(u64, usize)], dialogue: &Dialogue) -> Vec<(u64, usize)> {
    let lines = dialogue.lines.iter().flat_map(|line| {
        let (half_ms, result_ms) = HALVES_MS;
        let pause = if line.role == Role::Result { result_ms } else { half_ms };
        let middle = line.range.start + line.range.len() / 2;
        [(middle, 0), (line.range.end, pause)]
    });
    let mut cuts = lines.peekable();
    let mut all = Vec::new();
    for (wait, end) in pieces {
        let mut wait = *wait;
        while let Some((cut, pause)) = cuts.next_if(|(cut, _)| cut <= end) {
            all.push((wait + pause, cut));
            wait = 0;
        }
        all.push((wait, *end));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::dialogue::OutLine;

    #[test]
    fn each_line_comes_in_two_pieces() {
        let lines = vec![
            OutLine { range: 0..8, role: Role::Init },
            OutLine { range: 8..26, role: Role::Result },
        ];
        let dialogue = Dialogue { lines, ..Dialogue::default() };
        let pieces = halved(&[(7, 10), (9, 26)], &dialogue);
        assert_eq!(pieces, [(7, 4), (5, 8), (0, 10), (9, 17), (100, 26), (0, 26)]);
    }

    #[test]
    fn a_piece_is_cut_where_the_cli_waits() {
        let pieces = vec![(0, 10), (5, 10), (7, 30), (9, 30)];
        let mut schedule = Schedule { pieces, next: 0, exit_ms: 0, in_halves: false };
        assert_eq!(schedule.piece(0, 4), (0, 4));
        assert_eq!(schedule.piece(4, 20), (0, 10));
        assert_eq!(schedule.piece(10, 20), (12, 20));
        assert_eq!(schedule.piece(20, 30), (0, 30));
        assert_eq!(schedule.rest_ms(), 9);
        assert_eq!(schedule.rest_ms(), 0);
    }
}
