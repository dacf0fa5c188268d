//! The rules that the parser follows, one constant for each.
//!
//! Comments and the names of tests cite a rule by its id, such as `T1`. Each constant here carries
//! the id as its name and the rule as its value and documentation, so that a link to it explains
//! the id. `docs/rules.md` in the repository lists these rules together with those of the gateway,
//! and `docs/stream.md` names the tests of each fact behind them.

/// Defines the constants: the sentence is both the value and the documentation.
macro_rules! rules {
    ($($id:ident: $text:literal,)*) => {
        $(
            #[doc = $text]
            pub const $id: &str = $text;
        )*
    };
}

rules! {
    T1: "Text is reported as the new piece and as the whole text so far. A blank line separates two \
         messages, and the text before a tool call from the text after it; the blank line is part of \
         the new piece. Text blocks of one message are joined without a separator.",
    T2: "The final text is the text of the `result` record, unless tool calls split the streamed text \
         and its last part equals that result: then the final text is all that was streamed. An empty \
         result stands for the streamed text. Each result ends a turn with a final text of its own; a \
         result that comes only after later turns were streamed belongs to the text that it repeats.",
    T3: "Output of a subagent never enters the main text, never splits it, and never changes the final \
         text.",
    T4: "A run without partial messages takes its text from the snapshots. A snapshot never repeats \
         text that was already streamed.",
    T5: "A turn that ends without a `result` record yields its streamed text, marked as incomplete, with \
         the reason.",
    T6: "A leading `<think>` section is reasoning, not answer. The text of an API error never appears as \
         an answer, not even while it streams.",
    T7: "Text, reasoning and calls that the CLI retracts are retracted here too. The event reports what \
         is left and which calls will never start.",
    U1: "A tool call starts once, with its full arguments: those of the snapshot or those of the joined \
         deltas, whichever is valid first. Deltas that end as invalid JSON wait for the snapshot; without \
         one the start carries the raw text, marked as truncated, and never `{}`. Input in the start \
         block counts. If a snapshot contradicts the stream, the snapshot wins and the difference is \
         reported.",
    U2: "While the input of a call streams, updates report the top-level fields that are new or have \
         changed. A value is never reported twice and never shrinks; text that could still change its \
         meaning waits.",
    U3: "A tool call has one result, with the name of the tool. A call that is still open at the end of \
         its turn, or of the run if a subagent in the background has made it, gets a result marked \
         `incomplete`, or `ambiguous` if the API ran the tool.",
    U4: "An id that is used again in a later message starts a new call. Ids and names are trimmed; an \
         empty one is reported as a diagnostic.",
    U5: "Calls of a subagent carry the id of the subagent's own tool call as their parent.",
    R1: "Reasoning is reported by block, as the new piece and as the whole so far, with a blank line \
         between two blocks. Text that the start of a block carries is reported once, blocks that only a \
         snapshot shows are reported once, and blocks without readable text are not reported.",
    B3: "A turn has exactly one end, and no event of the turn follows it. A failure has a kind and a sentence that a \
         person can act on.",
}
