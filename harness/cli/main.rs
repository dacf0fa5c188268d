//! The `clitape` command: the only crate that reads arguments, the environment and the terminal.

#![allow(rustdoc::bare_urls, reason = "the doc comments of arguments are help texts")]

mod cache;
mod chat_server;
mod collect;
mod compare;
mod completions;
mod conditions;
mod confirm;
mod corpus;
mod drift;
mod editor;
mod exit;
mod explain;
mod help;
mod import;
mod init;
mod input;
mod list;
mod live;
mod outputs;
mod progress;
mod proof;
mod record;
mod reference;
mod rename;
mod replay;
mod report;
mod review;
mod rig;
mod rig_limits;
mod scan;
mod schema;
mod serve;
mod session;
mod show;
mod shrink;
mod signals;
mod stand_in;
mod subject;
mod sweep;
mod terminal;
mod test;
mod tested;
mod versions;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use clap::parser::ValueSource;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clitape_process::{ENTER, SUPERVISE, enter, supervise, supervise_with};
use clitape_recording::scenario::Workspace;

use crate::conditions::ChatFaultArgs;

/// Records real runs of the `claude` command, replays them, cut and delayed at random, through a
/// parser and a chat bridge, and compares what a person would have seen with goldens.
#[derive(Parser)]
#[command(version, propagate_version = true, after_help = format!("{}\n\n{}", exit::HELP, help::topics()))]
struct Args {
    /// The workspace: the folder of scenarios/ and cassettes/ [default: the nearest at or above this one]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    root: Option<PathBuf>,
    /// When to print colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Global options"
    )]
    color: Color,
    /// Print only what fails
    #[arg(long, short, global = true, help_heading = "Global options")]
    quiet: bool,
    #[command(flatten)]
    limits: input::InputLimits,
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
enum Command {
    Init(init::InitArgs),
    List(list::Args),
    Show(show::Args),
    Record(record::Args),
    New(init::NewArgs),
    Import(import::Args),
    Rename(rename::Args),
    Replay(replay::Args),
    Test(Box<test::Args>),
    Review(review::Args),
    Collect(collect::Args),
    Session(session::Args),
    Shrink(shrink::Args),
    Sweep(sweep::Args),
    Report(report::Args),
    Explain(explain::Args),
    Completions(completions::Completions),
    Man(completions::Man),
    Proof(proof::Args),
    Compare(compare::Args),
    Drift(drift::Args),
    Versions(versions::Args),
    Schema(schema::SchemaArgs),
    Conform(schema::ConformArgs),
    Corpus(corpus::Args),
    Cache(cache::Args),
    Scan(scan::Args),
    Subject(subject::Args),
    Rig(rig::Args),
    Serve(Box<serve::Args>),
    StandIn(stand_in::Args),
    ChatServer(chat_server::Args),
    Editor(editor::Args),
}

fn main() -> ExitCode {
    if let Some(code) = stand_in::is_asked_for(std::env::args_os()) {
        return code;
    }
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == SUPERVISE => return supervise(arguments),
        Some(first) if first == ENTER => return enter(arguments),
        _ => {}
    }
    // The link stays valid when the file of this program is replaced while it runs.
    supervise_with("/proc/self/exe".into());
    exit::as_documented(|| {
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        if completions::answer(command)? || help::print_page(&words.collect::<Vec<_>>())? {
            return Ok(exit::ExitStatus::Ok);
        }
        let parsed = command().try_get_matches();
        let parsed = parsed.and_then(|found| Ok((Args::from_arg_matches(&found)?, found)));
        let (args, found) = match parsed {
            Ok(parsed) => parsed,
            Err(said) if terminal::usage(&said) => return Ok(exit::ExitStatus::Usage),
            Err(_) => return Ok(exit::ExitStatus::Ok),
        };
        terminal::set_colors(match args.color {
            Color::Auto => None,
            Color::Always => Some(true),
            Color::Never => Some(false),
        });
        args.limits.set();
        match args.command {
            Command::Init(init) => init::run_init(&workspace_at(args.root)?, &init, args.quiet),
            Command::List(list) => list::run(&workspace(args.root)?, &list),
            Command::Show(show) => show::run(&workspace(args.root)?, &show),
            Command::Record(record) => record::run(&workspace(args.root)?, &record, args.quiet),
            Command::New(new) => init::run_new(&workspace(args.root)?, &new),
            Command::Rename(rename) => rename::run(&workspace(args.root)?, &rename, args.quiet),
            Command::Import(import) => import::run(&workspace_or_here(args.root)?, &import),
            Command::Replay(replay) => {
                let given = found.subcommand_matches("replay");
                let is_given = |id: &str| {
                    let source = given.and_then(|found| found.value_source(id));
                    source == Some(ValueSource::CommandLine)
                };
                replay::run(&workspace_or_here(args.root)?, &replay, is_given)
            }
            Command::Test(test) => test::run(&workspace(args.root)?, &test, args.quiet),
            Command::Review(review) => review::run(&workspace(args.root)?, &review),
            Command::Collect(collect) => collect::run(&collect),
            Command::Shrink(shrink) => shrink::run(&workspace(args.root)?, &shrink, args.quiet),
            Command::Sweep(sweep) => sweep::run(&workspace(args.root)?, &sweep, args.quiet),
            Command::Session(session) => session::run(&session),
            Command::Report(report) => {
                report::run(&workspace_or_here(args.root)?, &report, args.quiet)
            }
            Command::Explain(explain) => explain::run(&explain),
            Command::Completions(shell) => completions::completions(&shell),
            Command::Man(man) => completions::man(&man, command()),
            Command::Proof(proof) => proof::run(|| workspace(args.root), &proof, args.quiet),
            Command::Compare(compare) => compare::run(&workspace(args.root)?, &compare, args.quiet),
            Command::Drift(drift) => drift::run(&workspace(args.root)?, &drift, args.quiet),
            Command::Versions(versions) => {
                versions::run(&workspace(args.root)?, &versions, args.quiet)
            }
            Command::Schema(schema::SchemaArgs {}) => schema::run_schema(&workspace(args.root)?),
            Command::Conform(conform) => schema::run_conform(&conform, args.quiet),
            Command::Corpus(corpus) => corpus::run(&workspace(args.root)?, &corpus, args.quiet),
            Command::Cache(cache) => cache::run(&cache, args.quiet),
            Command::Scan(scan) => scan::run(&scan, args.quiet),
            Command::Subject(subject) => subject::run(&workspace(args.root)?, &subject, args.quiet),
            Command::Rig(rig) => rig::run(&workspace(args.root)?, &rig, args.quiet),
            Command::Serve(serve) => serve::run(|| workspace(args.root), &serve, args.quiet),
            Command::Editor(editor) => editor::run(&editor),
            Command::StandIn(args) => stand_in::run(&args),
            Command::ChatServer(server) => chat_server::run(&server, args.quiet),
        }
    })
}

/// Builds the command with all its arguments.
fn command() -> clap::Command {
    Args::command().mut_subcommand("chat-server", ChatFaultArgs::with_old_names)
}

/// Returns the workspace that `--root` names, or the current folder, even inside another workspace.
fn workspace_at(root: Option<PathBuf>) -> anyhow::Result<Workspace> {
    Ok(match root {
        Some(root) => Workspace::named(&root),
        None => Workspace::at(&std::env::current_dir().context("can't tell the current folder")?),
    })
}

/// Returns the workspace that `--root` names, or the nearest one at or above the current folder.
fn workspace(root: Option<PathBuf>) -> anyhow::Result<Workspace> {
    if let Some(root) = root {
        ensure!(
            root.is_dir(),
            "--root names {}, which is no folder; name the folder of scenarios/",
            root.display()
        );
        return Ok(Workspace::named(&root));
    }
    let here = std::env::current_dir().context("can't tell the current folder")?;
    Workspace::above(&here).with_context(|| {
        format!(
            "there is no scenarios/ folder in {} or above; go to the project, name it with \
             --root DIR, or start one with `clitape init`",
            here.display()
        )
    })
}

/// Returns the same as [`workspace`], but starts a new one in the current folder where there is none.
fn workspace_or_here(root: Option<PathBuf>) -> anyhow::Result<Workspace> {
    let here = std::env::current_dir().context("can't tell the current folder")?;
    match root {
        Some(root) => Ok(Workspace::named(&root)),
        None => Ok(Workspace::above(&here).unwrap_or_else(|| Workspace::at(&here))),
    }
}
