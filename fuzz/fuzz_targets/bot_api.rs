//! Runs the property `bot_api` on what libFuzzer makes up.
//!
//! `cargo +nightly fuzz run bot_api fuzz/corpus/bot_api fuzz/seeds/bot_api`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| clitape_fuzz::bot_api::check(bytes));
