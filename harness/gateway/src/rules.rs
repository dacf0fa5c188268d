//! The rules that the documentation of this crate cites by their ids.
//!
//! This module contains documentation only: each constant is named after a rule, its value is the
//! id, and its text says what the rule asks for. `docs/rules.md` of the repository contains the
//! rules in full, with the differences from other gateways and the tests of each.

macro_rules! rules {
    ($($(#[doc = $text:literal])+ $id:ident)+) => {
        $($(#[doc = $text])+ pub const $id: &str = stringify!($id);)+
    };
}

rules! {
    /// Nothing that a subagent says enters the main text or changes the final reply.
    T3
    /// A leading `<think>` section is reasoning, and the text of an API error is never an answer.
    T6
    /// A call starts once, with its full arguments. Arguments that never became valid JSON are
    /// marked as truncated and carry the raw text, never an empty object.
    U1
    /// While a call's input streams, updates carry the top-level fields that are new or changed.
    U2
    /// A call ends once, with the tool's name. A call that is open when the run ends gets a result
    /// that is marked as incomplete, or as ambiguous where the API ran the tool.
    U3
    /// Calls of a subagent carry the id of the subagent's own call as their parent.
    U5
    /// Every event of the bus has a run id, a number from 1 without gaps, a time, a stream and data.
    B1
    /// Arguments, results and notices pass one sanitiser, which masks secrets, cuts long texts and
    /// replaces the data of images and documents by its size.
    B2
    /// `start` is the first event of a run; exactly one of `end` and `error` is the last.
    B3
    /// Callbacks start and finish in the order of the events, one at a time. The channels of a run
    /// are independent: a slow channel delays no other.
    G1
    /// A callback that fails is counted, and the later callbacks still come. A callback that never
    /// settles is given up 15 s after the end of the run, and the report of the run says so.
    G2
    /// Events of another run never reach a channel, and a silent run calls no callback. `NO_REPLY` and
    /// `HEARTBEAT_OK` are never shown: alone they end a turn without a message, and as the last line they
    /// are left out.
    G3
    /// With [`DeliveryMode::MessageToolOnly`](crate::DeliveryMode::MessageToolOnly) no progress
    /// reaches the channel once a tool has sent a message, and the final text is not delivered.
    G4
    /// The start and the updates of a tool go to one callback with the call's id, its result to
    /// another.
    G5
    /// The typing signal begins beside the callback of the first tool, or half a second after the run,
    /// and ends with the run, also when the run fails, is aborted, panics or is dropped. It is off while
    /// a question is open.
    G6
    /// Every event is delivered and settled before a run is reported as complete; after that the
    /// run has no listener, whatever way it ended.
    G7
    /// An agent that prints nothing for a share of the run's limit is given up, and the person
    /// reads a sentence that says so.
    G8
    /// A chat shows the growing answer, finished blocks, tool lines only, or the final text only.
    V1
    /// A tool line has an emoji and a detail, and changes in place from running to done or failed.
    /// Equal neighbours are counted, and all but the last eight lines are folded.
    V2
    /// A turn has one visible message, which is edited as it grows and finalised in place.
    V3
    /// The first call of a draft goes out at 30 characters or a tool line; after that there is at
    /// most one call in each throttle window. The newest text wins.
    V4
    /// A message is at most as long as the service allows. A longer answer continues in the next
    /// message, never cut inside a tag, an entity or a character.
    V5
    /// A 429 is waited out, "message is not modified" is a success, network errors back off, a text
    /// whose markup is refused is sent again without it, and every other error ends the draft.
    V6
    /// The final message is delivered exactly once, and no late edit overwrites it. Errors, cut-off
    /// runs and empty answers each have a truthful sentence.
    V7
    /// `<`, `>` and `&` are escaped, and code stays code.
    V8
    /// Reasoning is shown only where it is asked for, in italics, among tool lines that contain the
    /// time of day. It is never part of the final message.
    V9
    /// Discord and Slack are data over the same code: their marks, escapes and limits.
    V10
    /// What the model writes for its host is no answer: directives and tags are left out, and so is a
    /// tool call that is written as text, of which a sentence says that it did not run.
    V11
    /// A message is in the topic in which the person wrote, and the first one of a turn replies to the
    /// person's message.
    V12
    /// Bus events become updates of version 1 of the Agent Client Protocol. A call is announced
    /// before any update of it, and nothing is sent twice.
    A1
    /// Diffs are made from what the stream says of files and never from the disk.
    A2
    /// A run's stream of server-sent events has the text as it comes, each call once it has ended,
    /// and `complete` last. Every reader gets every event once, or learns how many it lost.
    S1
    /// A collected stream is `{output, error, metadata: {toolCalls, retrievedContext}}`; an error
    /// keeps what was collected before it.
    S2
    /// A question of the CLI reaches every channel once, sanitised, and is closed once, whatever
    /// comes: answered, withdrawn, expired, or with its call or its run.
    Q1
    /// A question is a message of its own with a button for each answer; free text answers it too. The buttons
    /// come when all of what is asked is shown, on pages or in a file if one message can't hold it. Closed, it says what was decided, by whom and when, and has no button.
    Q2
    /// A question does not vanish and is not asked twice, whatever the chat's server does; the one
    /// exception is a message whose answer was lost.
    Q3
    /// An answer is taken once. One that is late, given twice or names no question is refused with a
    /// sentence.
    Q4
    /// A person is reminded of a question that waits, and after a longer time it is denied. While a
    /// question is open the agent's silence does not count.
    Q5
    /// An editor is asked between the announcement of the call and its work: `tool_call`,
    /// `session/request_permission`, and `in_progress` only after a yes.
    Q6
    /// Each turn of a process is a run of its own: its own bus, draft and final message. Nothing of a
    /// turn comes into the next one.
    Q7
    /// The channels of a turn wait until those of the turn before have delivered; its bus does not.
    Q8
    /// A message that becomes part of a turn under way is shown as heard, and is no part of the answer.
    Q9
    /// A turn that answers nobody has a message of its own when it says something, and none when it
    /// says nothing. A turn that a person stopped says so, below what was said.
    Q10
    /// A stream of events has a `question` and an `answered` event, and the server takes answers.
    Q11
    /// A transcript is read from its first line to its last, one line at a time, whatever its size.
    /// An id that looks like a path is refused before the disk is touched.
    X1
    /// A session may be resumed unless its transcript is missing, empty or without an answer, or
    /// ends in a message with a call that has no result.
    X2
    /// A session is kept after a turn only once its transcript contains an answer.
    X3
    /// A session is given up for one of nine reasons; two of them forbid a reseed.
    X4
    /// A reseed puts what was said in the old session, without secrets, before the first message of
    /// the new session.
    X5
    /// When a session is restarted because its settings changed, the names of these settings are
    /// reported, never their values.
    X6
    /// Silence after any read ends a run in one visible outcome.
    X7
    /// `clitape session` says whether a session may be resumed, why, and what to do.
    X8
}
