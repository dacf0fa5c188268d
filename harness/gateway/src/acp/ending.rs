//! The answer to `session/prompt` when a turn is over.

use clitape_stream::FailureKind;
use serde::Serialize;

use crate::bus::Phase;

/// JSON-RPC's code for a fault of the agent.
const INTERNAL_ERROR: i32 = -32_603;
/// ACP's code for an agent that has to be logged in first.
const AUTH_REQUIRED: i32 = -32_000;

/// The end of a turn: the result of `session/prompt`, or its error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The turn stopped for a reason the protocol knows.
    Stop(StopReason),
    /// The turn failed: a JSON-RPC error.
    Error {
        /// The error's code.
        code: i32,
        /// A sentence a person can act on, sanitised.
        message: String,
    },
}

/// Why a turn stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The agent is done.
    EndTurn,
    /// The answer reached the limit of tokens.
    MaxTokens,
    /// The run reached its limit of turns, or of money.
    MaxTurnRequests,
    /// The model refused.
    Refusal,
    /// Somebody stopped the turn.
    Cancelled,
}

impl TurnEnd {
    /// Returns the end that `phase` means; `None` while the run goes on. A turn that the client cancelled
    /// ends as cancelled, whatever became of it.
    pub(crate) fn of(phase: &Phase, cancelled: bool) -> Option<Self> {
        let reason = match phase {
            Phase::Start => return None,
            _ if cancelled => StopReason::Cancelled,
            Phase::End { .. } => StopReason::EndTurn,
            Phase::Error { kind, message } => match kind {
                FailureKind::MaxTokens => StopReason::MaxTokens,
                FailureKind::MaxTurns | FailureKind::MaxBudget => StopReason::MaxTurnRequests,
                FailureKind::Refusal => StopReason::Refusal,
                FailureKind::Interrupted | FailureKind::Stopped => StopReason::Cancelled,
                _ => {
                    let is_auth = *kind == FailureKind::Auth;
                    let code = if is_auth { AUTH_REQUIRED } else { INTERNAL_ERROR };
                    return Some(Self::Error { code, message: message.clone() });
                }
            },
        };
        Some(Self::Stop(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(phase: &Phase, cancelled: bool, expect: Option<&TurnEnd>) {
        assert_eq!(TurnEnd::of(phase, cancelled).as_ref(), expect, "{phase:?}");
    }

    #[test]
    fn a1_every_end_of_a_turn_has_its_stop_reason_or_error() {
        use FailureKind as F;
        let error = |kind| Phase::Error { kind, message: "Why.".into() };
        let stop = TurnEnd::Stop;
        let failed = |code| TurnEnd::Error { code, message: "Why.".into() };
        check(&Phase::Start, true, None);
        check(&Phase::End { text: "a".into() }, false, Some(&stop(StopReason::EndTurn)));
        check(&Phase::End { text: "a".into() }, true, Some(&stop(StopReason::Cancelled)));
        check(&error(F::NoResult), true, Some(&stop(StopReason::Cancelled)));
        for (kind, expect) in [
            (F::MaxTokens, stop(StopReason::MaxTokens)),
            (F::MaxTurns, stop(StopReason::MaxTurnRequests)),
            (F::MaxBudget, stop(StopReason::MaxTurnRequests)),
            (F::Refusal, stop(StopReason::Refusal)),
            (F::Interrupted, stop(StopReason::Cancelled)),
            (F::Stopped, stop(StopReason::Cancelled)),
            (F::Auth, failed(-32_000)),
            (F::Api, failed(-32_603)),
            (F::NoResult, failed(-32_603)),
        ] {
            check(&error(kind), false, Some(&expect));
        }
    }
}
