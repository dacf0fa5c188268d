//! A channel that records its callbacks, and behaves as its test wants.

use super::*;
use crate::notice::Notice;

pub(super) type RecorderLog = Arc<Mutex<Vec<String>>>;

/// The behaviour of a test channel in a callback.
#[derive(Clone, Copy)]
pub(super) enum CallbackBehaviour {
    Takes(u64),
    Fails,
    Panics,
    Never,
}

/// Writes down when each callback starts and ends; `how` goes by the number of the callback.
pub(super) struct Recorder {
    log: RecorderLog,
    started: Instant,
    calls: usize,
    how: fn(usize) -> CallbackBehaviour,
}

impl Recorder {
    pub(super) fn channel(
        log: &RecorderLog,
        how: fn(usize) -> CallbackBehaviour,
    ) -> Box<dyn Channel> {
        Box::new(Self { log: log.clone(), started: Instant::now(), calls: 0, how })
    }

    fn note(&self, what: &str) {
        lock(&self.log).push(format!("{} {what}", self.started.elapsed().as_millis()));
    }

    fn callback(&mut self, what: String) -> Callback<'_> {
        self.calls += 1;
        let how = (self.how)(self.calls);
        Box::pin(async move {
            self.note(&what);
            match how {
                CallbackBehaviour::Takes(ms) => sleep(Duration::from_millis(ms)).await,
                CallbackBehaviour::Fails => return Err(CallbackError("no".to_owned())),
                CallbackBehaviour::Panics => panic!("oh"),
                CallbackBehaviour::Never => std::future::pending().await,
            }
            self.note(&format!("{what}."));
            Ok(())
        })
    }
}

impl Channel for Recorder {
    fn text<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        self.callback(format!("text {text}"))
    }

    fn thinking<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        self.callback(format!("thinking {text}"))
    }

    fn tool<'a>(&'a mut self, tool: &'a Tool) -> Callback<'a> {
        self.callback(match tool {
            Tool::Update { id, .. } => format!("update {id}"),
            Tool::Start { id, .. } => format!("start {id}"),
            Tool::Result { .. } => "a result comes to the wrong callback".to_owned(),
        })
    }

    fn tool_result<'a>(&'a mut self, result: &'a Tool) -> Callback<'a> {
        let Tool::Result { id, .. } = result else { panic!("{result:?}") };
        self.callback(format!("result {id}"))
    }

    fn tools_dropped<'a>(&'a mut self, calls: &'a [String]) -> Callback<'a> {
        self.callback(format!("dropped {}", calls.join(" ")))
    }

    fn notice<'a>(&'a mut self, notice: &'a Notice) -> Callback<'a> {
        self.callback(notice.line().unwrap_or_default())
    }

    fn typing(&mut self, on: bool) {
        self.note(if on { "typing" } else { "typing ends" });
    }

    fn leave(&mut self) -> Callback<'_> {
        self.callback("leave".to_owned())
    }

    fn finish<'a>(&'a mut self, ending: &'a RunEnding) -> FinishFuture<'a> {
        Box::pin(async move {
            self.note(&format!("finish {ending}"));
            Delivery::Sent { message_ids: vec![1] }
        })
    }
}
