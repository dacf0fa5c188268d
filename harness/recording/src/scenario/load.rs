//! Reads `scenario.toml`: the recording, the run, the channels, the plans.
//!
//! An unknown key is an error that points at its line, because a check with a misspelt key would never run.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::bounds;
use super::error::{ScenarioError, read_toml};
use super::plans::{Fault, PinnedPlan, SweepSpec};
use super::record::{RecordSpec, Trigger};
use super::say::SayStep;
use super::setup::{self, ChannelSpec, Chat, ChatMode, RunSpec, SessionSpec, Variant};
use crate::files;
use crate::limits::ReplayLimits;
use crate::names::{CliVersion, Issue, NameError, ScenarioName};

/// A scenario folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The name, which is also the folder's.
    pub name: ScenarioName,
    /// The folder.
    pub dir: PathBuf,
    /// The title, in one line for people.
    pub title: String,
    /// The purpose of the scenario, in one sentence.
    pub about: String,
    /// The issues that it guards, such as `openclaw#80046`.
    pub tracks: Vec<Issue>,
    /// The recording.
    pub record: RecordSpec,
    /// The settings of the gateway's run.
    pub run: RunSpec,
    /// The gateway's facts about the session, if the scenario has any.
    pub session: Option<SessionSpec>,
    /// The channels in which a person sees the run.
    pub channels: Vec<ChannelSpec>,
    /// The behaviour of the servers of its chats.
    pub chat: ChatServerSpec,
    /// The outcomes that timing may give besides the goldens.
    pub variants: Vec<Variant>,
    /// The seeded plans.
    pub sweep: SweepSpec,
    /// The plans that are replayed before the seeded ones.
    pub plans: Vec<PinnedPlan>,
    /// The texts for a proof.
    pub proof: Proof,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    /// The title, in one line for people.
    title: String,
    /// The purpose of the scenario, in one sentence.
    about: String,
    /// The issues that it guards, such as `openclaw#80046`.
    #[serde(default)]
    tracks: Vec<Issue>,
    /// The recording.
    record: RecordSpec,
    /// The settings of the gateway's run.
    #[serde(default)]
    run: RunSpec,
    /// The gateway's facts about the session.
    session: Option<SessionSpec>,
    /// The channels in which a person sees the run.
    #[serde(default, rename = "channel")]
    channels: Vec<ChannelSpec>,
    /// The behaviour of the servers of its chats.
    #[serde(default)]
    chat: ChatServerSpec,
    /// The outcomes that timing may give besides the goldens.
    #[serde(default, rename = "variant")]
    variants: Vec<Variant>,
    /// The seeded plans.
    #[serde(default)]
    sweep: SweepSpec,
    /// The plans that are replayed before the seeded ones.
    #[serde(default, rename = "plan")]
    plans: Vec<PinnedPlan>,
    /// The texts for a proof.
    #[serde(default)]
    proof: Proof,
}

/// The behaviour of the server of every chat in each replay of the scenario: `[chat]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChatServerSpec {
    /// The faults of its calls, such as `2:rate-limit:3s` (V4, V6).
    pub faults: Vec<Fault>,
}

/// The texts of a person for a proof of the scenario: `[proof]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The behaviour that the proof addresses; the scenario's purpose if absent.
    pub behaviour: Option<String>,
    /// The untested parts, besides those that no replay can test.
    pub not_tested: Option<String>,
}

impl Scenario {
    /// Reads the scenario in `dir`.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] that points at the line of a key or value that can't be used.
    pub fn load(dir: &Path) -> Result<Self, ScenarioError> {
        let path = dir.join("scenario.toml");
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let name = name.parse().map_err(|error: NameError| ScenarioError::Invalid {
            path: dir.to_owned(),
            what: error.to_string(),
        })?;
        for part in ["golden", "workspace"] {
            files::check_folders(dir, Path::new(part))?;
        }
        let file: ScenarioFile = read_toml(&path)?;
        let scenario = Self {
            name,
            dir: dir.to_owned(),
            title: file.title,
            about: file.about,
            tracks: file.tracks,
            record: file.record,
            run: file.run,
            session: file.session,
            channels: file.channels,
            chat: file.chat,
            variants: file.variants,
            sweep: file.sweep,
            plans: file.plans,
            proof: file.proof,
        };
        match scenario.complaint() {
            None => Ok(scenario),
            Some(what) => Err(ScenarioError::Invalid { path, what }),
        }
    }

    /// Checks that the scenario asks for no more plans and channels than `most`. A command that replays them calls this
    /// first; the others accept any number.
    ///
    /// # Errors
    ///
    /// [`ScenarioError::Invalid`], which names the option that raises the limit.
    pub fn check_work(&self, most: ReplayLimits) -> Result<(), ScenarioError> {
        let asked = [
            ("`sweep.plans` is", self.sweep.seeds().count, most.plans, "--max-plans"),
            ("`[[channel]]` has", self.channels.len() as u64, most.channels, "--max-channels"),
        ];
        let Some((what, number, most, option)) = asked.iter().find(|(_, n, most, _)| n > most)
        else {
            return Ok(());
        };
        let what = format!(
            "{what} {number}, and {most} are the most that are replayed; write fewer, or raise \
             the limit with `{option}`"
        );
        Err(ScenarioError::Invalid { path: self.dir.join("scenario.toml"), what })
    }

    /// Returns whether the scenario has a `model.toml`; without it, as after an import, it can't be recorded.
    pub fn has_model(&self) -> bool {
        files::is_there(&self.dir.join("model.toml"))
    }

    /// Sorts versions, the newest first; those outside the exception of the scenario come last.
    pub fn sort_versions(&self, versions: &mut [CliVersion]) {
        let only = self.record.only.as_ref();
        let is_outside = |version: &CliVersion| only.is_some_and(|range| !range.contains(version));
        versions.sort_by(|a, b| is_outside(a).cmp(&is_outside(b)).then_with(|| b.by_number(a)));
    }

    /// Returns the first chat among the channels, or a default one in mode `partial`.
    pub fn first_chat(&self) -> Chat {
        let chat = self.channels.iter().find_map(|channel| match *channel {
            ChannelSpec::Telegram(chat) => Some(chat),
            ChannelSpec::Acp { .. } | ChannelSpec::Sse {} => None,
        });
        chat.unwrap_or(Chat::of(ChatMode::Partial))
    }

    /// Returns a sentence about a value that is out of range.
    fn outside(&self) -> Option<String> {
        let Self { record, run, .. } = self;
        let signals =
            record.signal.iter().chain(record.then.iter().filter_map(|s| s.signal.as_ref()));
        let count = |entries: usize| u64::try_from(entries).unwrap_or(u64::MAX);
        let mut values = vec![
            ("tracks (entries)", count(self.tracks.len())),
            ("record.args (entries)", count(record.args.len())),
            ("record.timeout_s", record.timeout_s),
            ("[[record.say]] (entries)", count(record.say.len())),
            ("[[record.then]] (entries)", count(record.then.len())),
            ("run.limit_s", run.limit_s),
            ("run.pace_ms", run.pace_ms),
            ("run.stuck_callback", run.stuck_callback.unwrap_or(1)),
            (
                "session.fingerprints (entries)",
                self.session.as_ref().map_or(0, |it| count(it.fingerprints.len())),
            ),
            ("[[channel]] (entries)", count(self.channels.len())),
            ("[[variant]] (entries)", count(self.variants.len())),
            ("chat.faults (entries)", count(self.chat.faults.len())),
            ("sweep.plans", self.sweep.plans),
            ("sweep.faults (entries)", count(self.sweep.faults.len())),
            ("[[plan]] (entries)", count(self.plans.len())),
            ("title and about (bytes)", count(self.title.len() + self.about.len())),
        ];
        values.extend(record.say.iter().flat_map(SayStep::numbers));
        for signal in signals {
            values.push(("record.signal.delay_ms", signal.delay_ms));
            if let Trigger::Calls(calls) = signal.when {
                values.push(("record.signal.when.calls", calls));
            }
        }
        bounds::first_outside(&bounds::SCENARIO, values)
    }

    fn complaint(&self) -> Option<String> {
        if let Some(what) = self.record.complaint() {
            return Some(what);
        }
        if let Some(what) = self.run.complaint(self.channels.contains(&ChannelSpec::Sse {})) {
            return Some(what);
        }
        let outside = self.outside().or_else(|| self.unmade_check());
        outside.or_else(|| setup::variants_complaint(&self.variants, &self.channels))
    }

    /// Returns a sentence about a key that asks for a check that is never made.
    fn unmade_check(&self) -> Option<String> {
        let Self { channels, chat, sweep, .. } = self;
        for (number, channel) in (1..).zip(channels) {
            let first = channels.iter().position(|other| other == channel).unwrap_or_default() + 1;
            if first < number {
                return Some(format!(
                    "`[[channel]]` {number} is the same as `[[channel]]` {first}, so that it shows \
                     nothing more; change or remove one"
                ));
            }
        }
        let has_chat = channels.iter().any(|channel| matches!(channel, ChannelSpec::Telegram(_)));
        for (key, is_empty) in
            [("chat.faults", chat.faults.is_empty()), ("sweep.faults", sweep.faults.is_empty())]
        {
            if !is_empty && !has_chat {
                return Some(format!(
                    "`{key}` needs a chat, whose calls get the faults; add a [[channel]] of kind \
                     \"telegram\", or remove the faults"
                ));
            }
        }
        let runs = self.record.then.len() + 1;
        if let Some(what) = self.session.as_ref().and_then(|session| session.complaint(runs)) {
            return Some(what);
        }
        (sweep.plans == 0 && !sweep.faults.is_empty()).then(|| {
            "`sweep.faults` are drawn by the plans, and `sweep.plans` is 0; write some plans, or \
             remove the faults"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    fn load(record: &str) -> Result<Scenario, ScenarioError> {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("scenario");
        fs::create_dir(&dir).unwrap();
        let text = format!("title = 't'\nabout = 'a'\n[record]\nprompt = 'p'\n{record}");
        fs::write(dir.join("scenario.toml"), text).unwrap();
        Scenario::load(&dir)
    }

    #[test]
    fn a_channel_has_the_keys_of_its_kind() {
        let channels = load(
            "[[channel]]\nkind = 'telegram'\nmode = 'progress'\n\
             [[channel]]\nkind = 'acp'\n[[channel]]\nkind = 'acp'\nterminal = true",
        );
        let expect = [
            ChannelSpec::Telegram(Chat::of(ChatMode::Progress)),
            ChannelSpec::Acp { terminal: false },
            ChannelSpec::Acp { terminal: true },
        ];
        assert_eq!(channels.unwrap().channels, expect);
        for (keys, expect) in [
            ("kind = 'acp'\nmode = 'partial'", ":7: unknown field `mode`, expected `terminal`"),
            ("kind = 'telegram'", ":5: missing field `mode`"),
            ("kind = 'fax'", ":6: unknown value `fax`, expected one of `telegram`, `acp`, `sse`"),
        ] {
            let error = load(&format!("[[channel]]\n{keys}")).unwrap_err().to_string();
            assert!(error.ends_with(&format!("scenario.toml{expect}")), "{error}");
        }
    }

    #[test]
    fn an_event_stream_has_no_mode() {
        let channels = load("[[channel]]\nkind = 'sse'").unwrap().channels;
        assert_eq!(channels, [ChannelSpec::Sse {}]);
        let error = load("[[channel]]\nkind = 'sse'\nmode = 'partial'").unwrap_err().to_string();
        assert!(error.contains("scenario.toml:7: unknown field `mode`"), "{error}");
    }

    #[test]
    fn v6_faults_have_a_call_and_a_kind() {
        let scenario = load(
            "[[channel]]\nkind = 'telegram'\nmode = 'partial'\n\
             [chat]\nfaults = ['2:rate-limit:3s']\n[sweep]\nfaults = ['slow']",
        );
        let scenario = scenario.unwrap();
        assert_eq!(scenario.chat.faults[0].to_string(), "2:rate-limit:3s");
        assert_eq!(scenario.sweep.faults, [crate::scenario::FaultKind::Slow]);
        for (keys, expect) in [
            (
                "[chat]\nfaults = ['2:hang', 'rate-limit']",
                ":6: `rate-limit` is no fault of a call;",
            ),
            ("[sweep]\nfaults = ['2:slow:1ms']", ":6: there is no fault `2:slow:1ms`; write"),
        ] {
            let error = load(keys).unwrap_err().to_string();
            assert!(error.contains(&format!("scenario.toml{expect}")), "{error}");
        }
    }

    #[test]
    fn checks_that_are_never_made_are_refused() {
        let chat = "[[channel]]\nkind = 'telegram'\nmode = 'partial'\n";
        let sse = "[[channel]]\nkind = 'sse'\n";
        let resumed = "[[record.then]]\nresume = 'id'\nprompt = 'p'\n";
        for (keys, expect) in [
            (format!("{chat}{sse}"), None),
            (format!("{chat}reasoning = true\n{chat}"), None),
            (format!("{chat}{sse}{chat}"), Some("`[[channel]]` 3 is the same as `[[channel]]` 1")),
            (format!("{sse}{sse}"), Some("`[[channel]]` 2 is the same as `[[channel]]` 1")),
            (format!("{chat}[sweep]\nplans = 0"), None),
            (
                format!("{chat}[sweep]\nplans = 0\nfaults = ['slow']"),
                Some("`sweep.faults` are drawn by the plans, and `sweep.plans` is 0"),
            ),
            (format!("{chat}[chat]\nfaults = ['1:hang']\n[sweep]\nplans = 0"), None),
            (format!("{sse}[chat]\nfaults = ['1:hang']"), Some("`chat.faults` needs a chat")),
            (format!("{sse}[sweep]\nfaults = ['hang']"), Some("`sweep.faults` needs a chat")),
            (format!("{sse}[run]\nstream_break = '4:2'"), None),
            (
                format!("{chat}[run]\nstream_break = '4:2'"),
                Some("`run.stream_break` needs an event stream"),
            ),
            ("[session]".to_owned(), Some("`[session]` is about a session that is resumed")),
            (format!("{resumed}[session]\nfingerprints = ['{{}}', '{{}}']"), None),
            (
                format!("{resumed}[session]\nfingerprints = ['{{}}', '{{}}', '{{}}']"),
                Some("`session.fingerprints` has 3 settings, and the scenario 2 runs"),
            ),
        ] {
            let error = load(&keys).err().map(|error| error.to_string());
            match (&error, expect) {
                (None, None) => {}
                (Some(error), Some(expect)) => assert!(error.contains(expect), "{error}"),
                _ => panic!("{keys}: {error:?}"),
            }
        }
    }

    #[test]
    fn the_name_of_an_issue_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("scenario");
        fs::create_dir(&dir).unwrap();
        for (tracks, expect) in [
            ("['a#1', 'b/c#2']", None),
            (
                "[\n'a#1',\n'openclaw#7;touch${IFS}x',\n]",
                Some("can't be the name of an issue; write"),
            ),
        ] {
            let text =
                format!("title = 't'\nabout = 'a'\ntracks = {tracks}\n[record]\nprompt = 'p'\n");
            fs::write(dir.join("scenario.toml"), text).unwrap();
            let error = Scenario::load(&dir).err().map(|error| error.to_string());
            assert_eq!(error.is_some(), expect.is_some(), "{error:?}");
            let (error, part) = (error.unwrap_or_default(), expect.unwrap_or_default());
            assert!(error.contains(part), "{error}");
            assert!(error.is_empty() || error.contains("scenario.toml:3: `openclaw#7;"), "{error}");
        }
    }

    #[test]
    fn an_exit_code_nobody_can_meet_is_told() {
        for (record, expect) in [
            (
                "exit = 'one'",
                ":5: expected an exit code, the name of a signal, or a table of them such as { \"2.1.329\" = 1 }",
            ),
            (
                "exit = { '3.0.0' = 1 }\nonly = { until = '2.1.148', reason = 'r' }",
                ": `record.exit` names version 3.0.0, which is after the last one of `record.only`; remove it",
            ),
        ] {
            let error = load(record).unwrap_err().to_string();
            assert!(error.ends_with(&format!("scenario.toml{expect}")), "{error}");
        }
    }

    #[test]
    fn a_list_of_versions_is_refused_with_what_to_write_instead() {
        let error = load("versions = ['1.0.0']").unwrap_err().to_string();
        let expect = "scenario.toml:5: `versions` is no key of [record] any more, because the versions of all \
                      scenarios are in `[versions]` of clitape.toml; remove it, and if a version can't be recorded";
        assert!(error.contains(expect), "{error}");
    }

    #[test]
    fn versions_are_sorted_with_the_newest_first() {
        for (record, expect) in [
            ("", ["2.1.332", "2.1.99", "1.0.128"]),
            ("only = { until = '2.1.148', reason = 'r' }", ["2.1.99", "1.0.128", "2.1.332"]),
        ] {
            let mut versions = ["2.1.99", "1.0.128", "2.1.332"].map(|text| text.parse().unwrap());
            load(record).unwrap().sort_versions(&mut versions);
            assert_eq!(versions, expect, "{record}");
        }
    }
}
