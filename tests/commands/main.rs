//! The tests of each command, run like a person runs it. They are one program, so that it is linked once, and tests
//! that wait for other programs overlap. `cargo test --test commands subjects` runs those of one module.

#[path = "../common/mod.rs"]
mod common;

mod action;
mod addresses;
mod agents;
mod chat_server;
mod cli;
mod compare;
mod completions;
mod confinement;
mod consent;
mod corpus;
mod drift;
mod early_faults;
mod examples_of_gateways;
mod few_processes;
mod findings;
mod first_hour;
mod git;
mod hostile;
mod imports;
mod kept_plans;
mod limits;
mod limits_of_runs;
mod limits_reached;
mod machines;
mod marks;
mod packages;
mod parsers;
mod pasted;
mod processes;
mod promises;
mod proof;
mod reach;
mod reference;
mod report;
mod review;
mod runners;
mod selection;
mod serve;
mod site;
mod stand_in;
mod stays_red;
mod subject_check;
mod subject_replay;
mod subjects;
mod sweep;
mod unmade;
mod variants;
mod versions;
mod who_writes;
mod workspace;
