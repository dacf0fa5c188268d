//! Reads the output of `claude -p --output-format stream-json` on stdin and prints what a channel
//! made of closures hears: a line a callback, and then what became of the run.

use std::error::Error;
use std::io::{self, Read};

use clitape_gateway::{Bus, Callbacks, Channel, Delivery, Run, RunSettings, done};
use clitape_stream::Parser;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let channel: Box<dyn Channel> = Box::new(printing());
    let mut run = Run::start(Bus::new("run-1"), RunSettings::default(), [channel]);
    let mut parser = Parser::new();
    let mut bytes = vec![0; 65_536];
    loop {
        // A gateway awaits the read, and `run.stalled()` beside it.
        let read = io::stdin().lock().read(&mut bytes)?;
        if read == 0 {
            break;
        }
        run.on_bytes();
        parser.feed_with(&bytes[..read], &mut |event| run.on_event(&event));
        tokio::task::yield_now().await;
    }
    parser.finish_with(&mut |event| run.on_event(&event));
    let report = run.finish().await;
    for channel in report.channels {
        println!("delivered: {:?}", channel.final_delivered);
        println!("failures: {}", channel.callback_failures);
    }
    Ok(())
}

fn printing() -> Callbacks {
    Callbacks::new()
        .on_text(|text| {
            println!("text: {text:?}");
            done()
        })
        .on_thinking(|text| {
            println!("thinking: {text:?}");
            done()
        })
        .on_tool(|tool| {
            println!("tool {}: {}", tool.id(), tool.title());
            done()
        })
        .on_tool_result(|result| {
            println!("result {}", result.id());
            done()
        })
        .on_notice(|notice| {
            if let Some(line) = notice.line() {
                println!("notice: {line}");
            }
            done()
        })
        .on_typing(|on| println!("typing: {on}"))
        .on_finish(|ending| {
            println!("finish: {ending}");
            Box::pin(async { Delivery::Sent { message_ids: vec![1] } })
        })
}
