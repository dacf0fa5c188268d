//! Runs the property `stream` on what libFuzzer makes up.
//!
//! `cargo +nightly fuzz run stream fuzz/corpus/stream fuzz/seeds/stream`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| clitape_fuzz::stream::check(bytes));
