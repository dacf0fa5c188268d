//! The explanation of each kind of finding: its usual cause, and the cure.
//!
//! `clitape explain ID` prints it, and `docs/reference/findings.md` is made from it. A new kind does not compile without
//! its row here.

use super::FindingKind;

/// The usual cause of a finding, and the cure; a sentence or a few each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation {
    /// The usual cause.
    pub cause: &'static str,
    /// The change that makes the finding go away, or the command that accepts it.
    pub cure: &'static str,
}

macro_rules! explanations {
    ($($kind:ident: $cause:literal, $cure:literal;)+) => {
        impl FindingKind {
            /// Returns the usual cause of the finding, and the cure.
            pub fn explanation(self) -> Explanation {
                match self {
                    $(Self::$kind => Explanation { cause: $cause, cure: $cure },)+
                }
            }
        }
    };
}

explanations! {
    GoldenDiffers:
        "A change of the program, of the scenario or of a recording changed what the lane has.",
        "Look at the chat before and after. If it is right, accept it with `clitape test SCENARIO --update` and \
         `clitape review`; otherwise mend the change.";
    GoldenMissing:
        "The scenario, the channel or the version of the CLI is new, or the golden was deleted.",
        "Run `clitape test SCENARIO --update`, read the proposal with `clitape review`, and commit the accepted golden.";
    GoldenOrphan:
        "A channel, a variant or a recording was removed or renamed, and its golden was left behind; or the golden repeats \
         the one of an earlier version.",
        "Delete the file, or give the scenario back what the golden was about.";
    GoldenUnreadable:
        "The file was edited by hand, has the marks of a merge conflict, or is not UTF-8.",
        "Restore it from git, or delete it and run `clitape test SCENARIO --update` again.";
    OutcomeUnnamed:
        "With other cuts and times the chat ends in another way than its golden and its variants have.",
        "Replay the plan of the finding. Where both outcomes are right, add a `[[variant]]` and propose its golden with \
         `--update`; otherwise mend the race.";
    VariantNeverSeen:
        "No plan reaches the variant: there are too few plans, or the program no longer gives this outcome.",
        "Raise `plans` under `[sweep]`, or remove the variant with its golden.";
    PlanDiverges:
        "The parser or the bridge depends on where the bytes were cut or on when they came, such as by taking a read for a \
         line.",
        "Replay the printed plan, which is as small as it gets, and buffer up to the line feed.";
    WrongFinalText:
        "A call that failed, was slow or lost its reply changed what stays in the chat; or the output of `claude` was read \
         in pieces that were taken for lines.",
        "Send what is lost again, wait for `retry_after`, and parse whole lines. The finding's command replays the plan.";
    RecordedDiverges:
        "At the recorded cuts and times the bridge ends with another text than in the canonical replay.",
        "Replay the recording as it was read, and look for state that depends on a timer or on the size of a read.";
    FaultUnseen:
        "The output of `claude` was spoiled, such as by an end in the middle of a line, and the chat shows neither what is \
         left nor that something is missing.",
        "Keep what was understood, count the rest, and say that the run broke off. `clitape help faults` lists what a person \
         must see.";
    SidesDiffer:
        "The change between the two builds, programs or versions reaches this lane.",
        "Read the page of the comparison. A wanted difference needs no cure; of any other, the commands beside it show \
         each side again.";
    NotCompared:
        "A side could not be started, ended with an error, reached a limit or took too long.",
        "Read the reason in the finding, run that side alone, and raise the limit that is named, if one is.";
    NotRecorded:
        "The scenario is new, or `clitape.toml` lists a version that the scenario was not recorded with.",
        "Record it: `clitape record SCENARIO`. A version that can't do it is left out with `only` under `[record]`.";
    CassetteOrphan:
        "The scenario was deleted or renamed, and its recordings stayed.",
        "`clitape rename OLD NEW` moves recordings with their scenario; otherwise remove the folder.";
    ManifestDiffers:
        "The scenario was changed after the recording, such as its further runs or its exit codes, or `cassette.toml` was \
         edited.",
        "Record again with `clitape record SCENARIO --force`, or take back the change of the scenario.";
    TimesImplausible:
        "`timeline.jsonl` was written or edited by hand, or comes from another tool.",
        "Record again, or import the capture without times.";
    RecordingStale:
        "`scenario.toml`, `model.toml` or the workspace of the scenario changed after it was recorded.",
        "Record again: `clitape record SCENARIO --force`, and review the goldens.";
    LineLost:
        "The parser left a line out, counted it twice, or stopped before the end.",
        "Every line becomes an event, a diagnostic or a count; look at the line that the finding names.";
    RecordRefused:
        "The parser expects a field that this record does not have, or refuses one that it does not know.",
        "Accept unknown kinds and fields, and keep them as raw JSON.";
    CallNotStated:
        "A call of a streamed block was counted beside the same call of its `assistant` record, or neither was.",
        "Join the two by the id of the call.";
    CallMisread:
        "Pieces of an input were joined by their index alone, or `parent_tool_use_id` was not read.",
        "Keep pieces by message and index, and take name and parent from the record of the call.";
    ResultMisread:
        "A result was matched by its order instead of its id, or `is_error` was not read.",
        "Match by `tool_use_id`, and take the outcome from `is_error`.";
    InputMisread:
        "A piece of JSON was shown before it could be read, or an escape was cut in half.",
        "Report only what is a beginning of the whole input.";
    FieldUnreported:
        "A report waited for the end of the input although a field was whole before.",
        "Report a field when its closing quote has come.";
    FieldRepeated:
        "Each delta reports every open field again.",
        "Report an open field again only when it has grown.";
    TextMisread:
        "Deltas were joined in another order, counted again with the whole message, or decoded in the middle of a \
         character.",
        "Join deltas by message and block, replace them by the whole text when it comes, and decode whole lines.";
    EmptyDelta:
        "A delta without text was passed on.",
        "Leave empty deltas out.";
    EndingMisread:
        "A `result` was taken for the end of another turn, or its `subtype` and `is_error` were not read together.",
        "End one turn for each `result`, as a failure if it says so.";
    AnswerMisread:
        "The answer was built from the last message alone, or has a message twice.",
        "Join the texts of the turn's main conversation once, in order.";
    TextKept:
        "A message broke off and was sent again, and the text of the first try stayed.",
        "Take back the text of a message that another one replaces.";
    ToolUnbalanced:
        "A call ended twice, or an interrupt left it open.",
        "Close open calls at the end of the turn, and drop an end without a start.";
    BusBroken:
        "An event was lost or came after the end of the run.",
        "Publish through one counter, and close the run last.";
    EditAfterFinal:
        "A timer of the draft fired after the final message, or an edit was under way when it was sent.",
        "Cancel the timer, and wait for the edit under way, before the final message is sent.";
    FinalNotOnce:
        "The final message was sent again after a lost reply, or was skipped because the draft had the same text.",
        "Send it once, also where the draft has the text, and treat a lost reply as sent.";
    SecondMessage:
        "A new message was sent where the draft could have been edited.",
        "Edit the one message of the turn forward.";
    TooFast:
        "An edit went out for each event.",
        "Keep about a second between two calls, and send the newest text.";
    ToldAfterSend:
        "The draft went on although the agent had sent its message with a tool.",
        "Stop the draft when the sending tool has succeeded.";
    SilentRunTold:
        "A heartbeat or a run without an answer wrote to the chat.",
        "Check whether the run is silent before each call of the chat.";
    CallbackFailed:
        "A callback of the channel returned an error or never settled.",
        "Look at the call before it; a failed call must not end the run.";
    CalledTooEarly:
        "`retry_after` was cut, or read as milliseconds.",
        "Wait as many seconds as the server asks.";
    ListenerPanicked:
        "A listener indexes or unwraps what an event need not have.",
        "Handle the event of the finding; a listener must accept every event.";
    ListenerLeft:
        "A run ended on a path that does not remove its listener.",
        "Remove the listener when it is dropped, and not at one of several ends.";
    EndedEarly:
        "The end of the run was published before the last call of the chat had an answer.",
        "Wait for the last call first.";
    CallsOverlap:
        "Two tasks write to one chat, such as a timer and the end of the turn.",
        "Have one queue for each chat, and one call under way.";
    BusDiffers:
        "An event of the parser was dropped, changed or put under the wrong conversation.",
        "Publish each event as it is, with the conversation of its record.";
    SecretTold:
        "The place or the form of the secret is new to the sanitiser.",
        "Add it to `harness/gateway/src/sanitise/`, with a test.";
    ReasoningShown:
        "A block of reasoning was taken for text.",
        "Leave `thinking` blocks out unless the chat shows them.";
    SubagentShown:
        "A record with a `parent_tool_use_id` was taken for one of the main conversation.",
        "Look at `parent_tool_use_id` before text is shown.";
    LinesMiscounted:
        "Lines of tools were folded without a count, or are those of another turn.",
        "Count the calls of the turn, folded ones included.";
    PauseUnshown:
        "The record about the compaction was not shown.",
        "Show a line while the conversation is compacted.";
    PageTooLong:
        "The text was measured before its markup, or in other units than the service counts.",
        "Measure as the service does, and split before that.";
    ToolBeforeYes:
        "The call was shown as running, or ran, while its question was open or after a no.",
        "Hold it until the answer has come.";
    QuestionLeft:
        "A question was never shown, has no end, or its buttons stayed after the answer.",
        "Show each question, close it at the answer, at a withdrawal and at the end of the turn, and take the buttons away \
         then.";
    AnsweredTwice:
        "A second press or a late answer was accepted.",
        "Ignore answers to a question that is closed.";
    WrongAsker:
        "The name comes from the newest conversation instead of the call.",
        "Look the conversation up by the id of the call.";
    WithdrawnLeft:
        "`control_cancel_request` was not read.",
        "Close the question as withdrawn.";
    AnswerMisunderstood:
        "A button or a reply was matched with the wrong option.",
        "Put the id of the question and the number of the option into the button.";
    InputUnshown:
        "The input was cut or summarised above the buttons.",
        "Show all of it in pages, and put the buttons below the last page.";
    EndedByOther:
        "A late `result` ended the next turn.",
        "Match a `result` with the turn whose message it answers.";
    NotAnsweredOnce:
        "A message of the host was lost in the queue, or was counted for two turns.",
        "Give each message to one turn, or fold it into the turn under way.";
    EditAfterTurn:
        "A timer or a call of the turn before was still under way.",
        "End the calls of a turn before the next one begins.";
    SilentStart:
        "The first call of the chat waited for text, while a tool ran for long.",
        "Show typing or a line when the tool starts.";
    EventAfterComplete:
        "An event was published after `complete`, or an end of the turn has none.",
        "Send `complete` once, last, on every way in which a turn ends.";
    TextAfterCall:
        "Text waited in a buffer while the call was sent.",
        "Flush the text before the call.";
    StreamedCallNotOnce:
        "A call was published for its start and for its whole block, or for neither.",
        "Publish one `tool_use` for each id.";
    StreamedCallAltered:
        "The event was built before the input was whole, or without the outcome.",
        "Take name, input and outcome from the bus.";
    CallUncollected:
        "The collector dropped an event, such as at a reconnect.",
        "Come back with the id of the last event, and keep calls by id.";
    HitLost:
        "The summary of a search was cut, or reads another form of the result.",
        "Name every hit of the result.";
    StreamedTextLost:
        "A text was sent twice after a reconnect, dropped, or out of order.",
        "Send each text once, in the order of stdout.";
    UnannouncedUpdate:
        "A `tool_call_update` went out before its `tool_call`, or two `tool_call` have one id.",
        "Announce a call once, before its first update.";
    InProgressWhileAsked:
        "The state was set when the call came instead of when it ran.",
        "Keep the call `pending` until the person has answered.";
    CallEndNotOnce:
        "An interrupt left a call open, or its result came twice.",
        "Close what is open before the prompt is answered.";
    ResponseNotOnce:
        "A prompt was answered twice, never, or before its last update.",
        "Answer each prompt once, after all of its updates.";
    ResultAltered:
        "The content was cut, or was taken from another call.",
        "Pass the result on by the id of its call.";
    EditorTextLost:
        "A text before a tool was left out, or was sent again with the whole message.",
        "Send each text once, in the order of stdout.";
    EditorCallMissing:
        "A kind of tool is not passed on.",
        "Send a `tool_call` for each call; a list of todos may be a `plan`.";
    EditorAnswerLost:
        "The answer is in the `result` alone, and only deltas are passed on.",
        "Send the text of the `result` if the stream did not have it.";
    EditorWithdrawalUntold:
        "A message was refused or broke off, and the editor keeps its text.",
        "Say in a further message that the text was taken back.";
    PlanStale:
        "The last list of todos was not sent.",
        "Send a `plan` for each list.";
    ResumeFailed:
        "The transcript has an end that this version of the CLI does not resume, and the verdict misses it.",
        "Widen the verdict in `harness/gateway/src/session/`; `docs/sessions.md` lists how versions resume.";
    OpenCallUntold:
        "Calls and results of the transcript are matched wrongly.",
        "Match by id, and follow the branch of the conversation that counts.";
    AnswerAssumed:
        "A transcript that ends with a prompt was taken for an answered one.",
        "Ask for an answer of the main conversation.";
    GivenUpWithoutCause:
        "The verdict is stricter than the CLI.",
        "Give a session up only for a reason that the transcript has.";
    SidechainCounted:
        "Lines with `isSidechain` were counted as those of the conversation.",
        "Count them apart.";
    SilenceEndured:
        "No timer watches the silence of the agent, or each byte starts it anew.",
        "End a run whose agent was silent for longer than its limit.";
    ParserDiffers:
        "The parser drops, joins or splits records in another way, or ends at a line that it does not know.",
        "Read the first difference. Kinds that the parser is not held to are left out with `kinds`.";
    AnswerMissing:
        "The draft was deleted and the final message was refused, the text is only in the `result`, or an exception ended \
         the loop that reads stdout.",
        "Send first and delete afterwards, send again after a 429, and show the text of the `result` if none has streamed.";
    AnswerNotWhole:
        "A long answer is cut to fit one message, a page is lost, or the throttle drops the last piece.",
        "Send further messages, and send what waits when the `result` comes.";
    AnswerAltered:
        "Text is escaped twice, or markup that was refused is sent again as text.",
        "Escape once, for the parse mode of the call; the fallback is the text before it was rendered.";
    AnswerTwice:
        "A slow or lost reply counts as a failure, and the message is sent again.",
        "Repeat a new message only if the server refused it or was never reached.";
    AnswerOverwritten:
        "The last edit of the draft goes out after the final message.",
        "Cancel its timer, and await the edit under way, before the final message.";
    PagesOutOfOrder:
        "All pages are sent at once.",
        "Await the reply to each page before the next one.";
    FailureUntold:
        "A `result` with `is_error`, an end of `claude` without a `result`, or a signal shows no word.",
        "Show the words of the `result`, and take the end of stdout as an end of the turn too.";
    DraftLeft:
        "The answer is a new message, and the draft stays.",
        "Edit the draft into the answer, or delete it afterwards.";
    SeveralMessages:
        "Each part of a turn is a new message, although `one_message` is promised.",
        "Edit one message forward, or set `one_message = false`.";
    RunningLeft:
        "An exception ended the loop before the last edit, or the end of a call goes to another message.",
        "Finish the message in any case, and edit the one that has the sign.";
    TypingLeft:
        "The loop that sends the sign for typing goes on.",
        "End it with the turn.";
    BlankScreen:
        "The draft is deleted before the answer is sent.",
        "Send the answer first.";
    NoSignOfLife:
        "A debounce starts anew at each event and never fires, or only text is shown.",
        "Throttle instead: an edit a second, and typing from the first moment.";
    TextGlued:
        "Texts of two messages, or of a subagent and the agent, are joined without a blank line.",
        "Put a blank line between messages, and leave out records with a `parent_tool_use_id`.";
    TextTakenBack:
        "Edits have threads of their own, and an older one arrives late.",
        "Have one call at a time in each chat.";
    ToolsUntold:
        "Tools are looked for in a field that this version of `claude` does not print.",
        "Read the `tool_use` blocks of `assistant` records, or set `tools_shown = false` if that is meant.";
    ArgumentsEmpty:
        "The line shows the input of the first event, which is always empty, or of the first delta.",
        "Take the input of the whole block, or of the joined `input_json_delta`.";
    QuestionUntold:
        "`can_use_tool` leads to no message, or `claude` is started so that it asks nobody.",
        "Send a message with the question, and pass `--permission-prompt-tool stdio`.";
    ButtonsLeft:
        "The edit that removes the buttons was refused, or lost against an edit of the draft.",
        "Repeat it, and take the buttons away at a withdrawal and at the end of the turn too.";
    SilenceBroken:
        "`NO_REPLY` or `HEARTBEAT_OK` is shown as an answer.",
        "Leave such a turn out.";
    SecretShown:
        "The input or the result of a tool is shown as it is, or each delta is masked alone.",
        "Mask the joined text of inputs and results, and shorten it afterwards.";
    MarkupRefused:
        "Text is not escaped, or is cut inside of a tag, and the refused message is not sent again.",
        "Escape, split before rendering, and send a refused text without `parse_mode`.";
    MessageTooLong:
        "The length is measured in other units, or not at all.",
        "Send pages of at most 4,096 code points, once the markup is read.";
    WaitIgnored:
        "`retry_after` is read as milliseconds, cut, or not read.",
        "Read the body of the refused call, and wait as many seconds as it says.";
    TooManyCalls:
        "Each delta is an edit.",
        "Send about one edit a second, with the newest text.";
    SubjectHung:
        "The gateway never starts `claude`, does not read its output, or does not read its own stdin while it works.",
        "Run `clitape subject check NAME`, and read and write in tasks of their own.";
    SubjectRefused:
        "A line to `claude` has the wrong form, or `claude` is started with arguments that it refuses.",
        "Compare the line with that of the finding; start `claude` by hand once with the same arguments.";
    SubjectDied:
        "An exception of the gateway was not caught; the finding has its last words.",
        "Catch errors of each update and of each line.";
    SubjectFlooded:
        "A loop sends or prints without an end, or memory grows.",
        "End the loop; where so much is meant, raise the limit that the finding names.";
    KnownExpired:
        "The date of a row in the list of known differences is over.",
        "Mend the difference, or give the row a new date and a reason.";
    KnownUnused:
        "The difference of a row was mended, or no scenario that was played shows it.",
        "Remove the row.";
    BusUntold:
        "The event of a call or of its result is not published, or has no arguments.",
        "Publish each call with its input, and its result.";
    BusSilent:
        "The hook that writes the events is not loaded, or does not write the number of the chat.",
        "Check `{bus}` and the variables of the subject.";
    QuestionUnshown:
        "The input is cut above the buttons, such as after 100 characters.",
        "Show all of the input in pages, and the buttons below the last one.";
    OtherConversation:
        "What a turn collects is a variable of the module, which all chats share.",
        "Collect it in the turn.";
    ReasoningInAnswer:
        "`thinking` blocks are joined with the text.",
        "Leave them out, or set `reasoning_shown = true` if that is meant.";
    SubagentInAnswer:
        "Records with a `parent_tool_use_id` are joined with the agent's.",
        "Leave them out, or set `subagents_shown = true` if that is meant.";
    SuccessToldFailed:
        "Another sign than `is_error` decides, such as stderr or an exit code.",
        "Let `is_error` of the `result` decide.";
    FailureShownDone:
        "The sign is set when the result comes, whatever it says.",
        "Take it from `is_error` of the `tool_result`.";
    ArgumentOfAnother:
        "Pieces are kept by index alone, or lines by the name of the tool.",
        "Take name and input from one `tool_use` block, by its id.";
    RecordShown:
        "Raw output is the fallback where no `result` came.",
        "Show the streamed text and a sentence.";
    BlanksLost:
        "Deltas are trimmed one by one, or all blanks are joined.",
        "Join deltas as they come, and trim the whole.";
    StopIgnored:
        "The command to stop waits behind the turn, is passed on as a prompt, or finds no process yet.",
        "Handle it beside the turn: write an `interrupt`, or end the process.";
    RestartUntold:
        "The turn or the question that was under way is forgotten with the process.",
        "Store which chats have an open turn, and tell them at the start.";
    MessageLost:
        "A message during a turn, at a question or while the gateway was down is dropped, or a part of it is.",
        "Queue it, join the parts that come at once, and read pending updates at the start.";
    AnsweredAgain:
        "An update was not acknowledged before the restart, or each photo of an album is a prompt.",
        "Store which updates are done, and join messages with one `media_group_id`.";
    OldSession:
        "The session id is one variable for all chats, or that of an older turn.",
        "Store the id of every `init`, by the chat.";
    SessionForgotten:
        "Each message starts `claude` without `--resume`, or the id is lost with a process that was killed.",
        "Store the id of every `init`, and resume it; set `sessions_resumed = false` if that is meant.";
    AnswerLate:
        "The gateway waits for the end of the process instead of the `result`.",
        "Show the answer when the `result` comes.";
    RuleForgotten:
        "“Always allow” is answered with a plain `allow`.",
        "Send `updatedPermissions`, which the question has as `permission_suggestions`.";
    AnswerToldWrong:
        "The words in the chat are chosen by another variable than the answer.",
        "Make both from one value.";
    MessageInvalid:
        "A line lacks a field of the protocol, or has half of a character.",
        "Build messages with the types of the protocol, and cut text between characters.";
    TextUntold:
        "Only the last text of a turn is sent.",
        "Send all text of the main conversation.";
    CallUntold:
        "A kind of tool is not passed on.",
        "Send a `tool_call` for each call.";
    InputUntold:
        "`rawInput` is that of the first event, which is empty.",
        "Send the input of the whole block in an update.";
    CallLeftOpen:
        "The result of the call is not passed on.",
        "Send `completed` or `failed` for each result.";
    OutcomeWrong:
        "`is_error` is not read, or a no of the person counts as a success.",
        "Send `failed` for a result with an error.";
    CallNotOnce:
        "The start of a block and its whole record are both announced.",
        "Send one `tool_call` for each id, then updates.";
    RanBeforeAnswer:
        "The call is set to `in_progress` when it comes.",
        "Keep it `pending` until the person has answered.";
    StopReasonWrong:
        "The stop reason is always the same, or `session/cancel` is not remembered.",
        "Answer with `cancelled` after a cancel, and with what happened otherwise.";
    ToldAfterEnd:
        "The prompt is answered before the last updates are sent.",
        "Send all updates first.";
    RequestCut:
        "The request has a title or a part of the input.",
        "Put the whole input into `rawInput` or the content.";
    PlanNotNewest:
        "The plan is sent once, or an update of it is lost.",
        "Send a `plan` for each list of todos.";
    ScenarioUnusable:
        "`scenario.toml`, `model.toml` or a cassette has a mistake; the finding has the file and the line.",
        "Mend that line.";
    Stray:
        "A file, a link or a folder with an unusable name is in `scenarios/` or `cassettes/`.",
        "Move it elsewhere, or rename it with small letters, digits and hyphens.";
    Leftover:
        "A recording or an import was killed while it wrote.",
        "Remove the files that the finding names, and record again.";
    FaultNeverMet:
        "The chat makes fewer calls than the number of the fault, or none of its kind.",
        "Name an earlier call, or remove the fault.";
    CheckHangs:
        "A replay waits for an event that never comes, or `--timeout` is short.",
        "Replay the recording alone and look where it stops, or raise `--timeout`.";
    SecretKept:
        "A secret was in the run that was recorded, or in a capture that was imported.",
        "Record again with `--redact`, and revoke the secret if it was real; `--allow-secrets RULE` keeps one on purpose.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_are_sentences() {
        for kind in FindingKind::ALL {
            let Explanation { cause, cure } = kind.explanation();
            for text in [kind.title(), cause, cure] {
                assert!(text.ends_with('.') && !text.contains("  "), "{kind}: {text}");
                assert!(!text.starts_with(char::is_lowercase), "{kind}: {text}");
            }
            assert_ne!(cause, cure, "{kind}");
        }
    }

    #[test]
    fn a_kind_is_found_by_its_id_or_its_name() {
        let kind = Some(FindingKind::EditAfterFinal);
        for asked in ["GW003", "gw003", "edit-after-final", "GW003 edit-after-final", " GW003 "] {
            assert_eq!(FindingKind::find(asked), kind, "{asked}");
        }
        for asked in ["", "GW", "GW00", "edit", "GW003 first-sight"] {
            assert_eq!(FindingKind::find(asked), None, "{asked}");
        }
    }
}
