//! Every recorded run, for clients with and without terminals.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    CancelRequestNotification, PermissionOptionKind, RequestPermissionRequest,
};

use super::permissions::{cancelled, selected};
use super::random::IndependentClient;
use super::*;
use crate::question::Closing;

/// The output of the CLI in every recorded run, each with the path of its file.
fn recorded() -> Vec<(PathBuf, Vec<u8>)> {
    let cassettes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cassettes");
    let folders = |dir: &Path| std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let versions = folders(&cassettes).flat_map(|scenario| folders(&scenario).collect::<Vec<_>>());
    let paths = versions.map(|version| version.join("stdout.jsonl"));
    paths.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

#[test]
pub(crate) fn a1_a_client_can_follow_every_recorded_run() {
    let mut updates = 0;
    for (path, stdout) in recorded() {
        for terminal in [false, true] {
            let mut converter = AcpConverter::new(settings(terminal));
            let mut client = IndependentClient::default();
            for update in convert(&mut converter, published_bytes(&stdout)) {
                client.take(&update);
                updates += 1;
            }
            assert!(client.all_ended(), "{}", path.display());
            assert!(converter.turn_end().is_some(), "{}", path.display());
        }
    }
    assert!(updates > 500, "{updates} updates");
}

/// A client with the protocol's own types, which answers each question at once.
struct AnsweringClient {
    converter: AcpConverter,
    client: IndependentClient,
    /// Set if the person cancels the turn in place of an answer.
    cancels: bool,
    /// The state of each call that the client knows.
    statuses: HashMap<String, CallStatus>,
    /// The calls that the person has just decided about.
    decided: Vec<(bool, String)>,
    answers: usize,
}

impl AnsweringClient {
    /// Takes an event of the bus; an answer goes to `publisher`, as a host hands it over.
    fn take(&mut self, data: BusData, publisher: &mut Publisher) {
        for update in convert(&mut self.converter, [data]) {
            self.client.take(&update);
            if let Update::ToolCall(call) | Update::ToolCallUpdate(call) = update {
                let status = self.statuses.entry(call.tool_call_id).or_insert(CallStatus::Pending);
                *status = call.status.unwrap_or(*status);
            }
        }
        for request in self.converter.requests() {
            let message = self.converter.request(&request);
            let params = message["params"].clone();
            let ClientRequest::Permission(request) = &request else {
                let _: CancelRequestNotification = serde_json::from_value(params).unwrap();
                continue;
            };
            let asked: RequestPermissionRequest = serde_json::from_value(params).unwrap();
            let call = asked.tool_call.tool_call_id.0.to_string();
            assert_eq!(self.statuses.get(&call), Some(&CallStatus::Pending), "{message}");
            let once = asked.options.iter().find(|it| it.kind == PermissionOptionKind::AllowOnce);
            let outcome = match self.cancels {
                true => cancelled(),
                false => selected(&once.unwrap().option_id.0),
            };
            let answer = self.converter.answered(&request.id, &outcome);
            let Some((question, answer)) = answer else { continue };
            let is_stop = matches!(answer, Answer::Stop { .. });
            assert_eq!(is_stop, self.cancels, "{message}");
            let yes = Closing::Allowed { answers: Vec::new() };
            let closing = if is_stop { Closing::Stopped } else { yes };
            publisher.questions.close(&question, closing, None);
            // A question that no call of the run waits for is a call by itself.
            self.decided.push((call == question, call));
            self.answers += 1;
        }
    }
}

#[test]
pub(crate) fn q6_a_client_answers_every_recorded_question() {
    for cancels in [false, true] {
        let mut answers = 0;
        for (path, stdout) in recorded() {
            let mut client = AnsweringClient {
                converter: AcpConverter::new(settings(false)),
                client: IndependentClient::default(),
                cancels,
                statuses: HashMap::new(),
                decided: Vec::new(),
                answers: 0,
            };
            let bus = Bus::new("r1");
            let seen = Arc::new(Mutex::new(std::collections::VecDeque::new()));
            let log = seen.clone();
            let _subscription =
                bus.subscribe(move |event| lock(&log).push_back(event.data.clone()));
            bus.publish(BusData::Lifecycle(Phase::Start));
            let mut publisher = Publisher::new(bus.clone());
            let mut sink = |event: Event<'_>| {
                match &event {
                    Event::Outcome(outcome) => bus.publish(BusData::Lifecycle(phase(outcome))),
                    _ => publisher.publish(&event),
                }
                let next = || lock(&seen).pop_front();
                while let Some(data) = next() {
                    client.take(data, &mut publisher);
                }
                for (is_alone, call) in client.decided.drain(..) {
                    let expect = match (cancels, is_alone) {
                        (true, true) => CallStatus::Failed,
                        (true, false) => CallStatus::Pending,
                        (false, _) => CallStatus::InProgress,
                    };
                    assert_eq!(client.statuses[&call], expect, "{call} of {}", path.display());
                }
            };
            let mut parser = Parser::new();
            parser.feed_with(&stdout, &mut sink);
            parser.finish_with(&mut sink);
            assert!(client.client.all_ended(), "{}", path.display());
            answers += client.answers;
        }
        assert!(answers > 30, "{answers} answers");
    }
}
