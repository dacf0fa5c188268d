//! Reads the output of a live `claude` process (`--input-format stream-json --output-format stream-json`)
//! on stdin and prints what the channel of each turn hears, and what a gateway would answer to the
//! questions that were left open.

use std::error::Error;
use std::io::{self, Read};

use clitape_gateway::question::Answer;
use clitape_gateway::{Bus, Callbacks, Channel, Conversation, Delivery, RunSettings, Turn, done};
use clitape_stream::Parser;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut conversation = Conversation::new(RunSettings::default(), |turn| Turn {
        bus: Bus::new(format!("turn-{turn}")),
        channels: vec![Box::new(printing(turn)) as Box<dyn Channel>],
        delivered: Box::new(move |report| {
            println!("{turn} delivered: {:?}", report.channels[0].final_delivered);
        }),
    });
    let mut parser = Parser::new();
    let mut bytes = vec![0; 65_536];
    loop {
        // A gateway awaits the read, and `conversation.waited()` beside it.
        let read = io::stdin().lock().read(&mut bytes)?;
        if read == 0 {
            break;
        }
        conversation.on_bytes();
        parser.feed_with(&bytes[..read], &mut |event| conversation.on_event(&event));
        tokio::task::yield_now().await;
    }
    let open: Vec<String> = conversation.questions().ids().map(str::to_owned).collect();
    for id in open {
        let line = conversation.answer(&id, &Answer::deny("Not now."), Some("Ann"))?;
        println!("to the CLI: {line}");
    }
    parser.finish_with(&mut |event| conversation.on_event(&event));
    conversation.finish().await;
    Ok(())
}

fn printing(turn: u64) -> Callbacks {
    Callbacks::new()
        .on_text(move |text| {
            println!("{turn} text: {text:?}");
            done()
        })
        .on_tool(move |tool| {
            println!("{turn} tool {}: {}", tool.id(), tool.title());
            done()
        })
        .on_tool_result(move |result| {
            println!("{turn} result {}", result.id());
            done()
        })
        .on_question(move |question| {
            println!(
                "{turn} question {}: {} {:?}",
                question.id, question.title, question.suggestions
            );
            done()
        })
        .on_question_closed(move |closed| {
            println!("{turn} closed {}: {:?}", closed.id, closed.closing);
            done()
        })
        .on_heard(move |text| {
            println!("{turn} heard: {text}");
            done()
        })
        .on_finish(move |ending| {
            println!("{turn} finish: {ending}");
            Box::pin(async { Delivery::Sent { message_ids: vec![1] } })
        })
}
