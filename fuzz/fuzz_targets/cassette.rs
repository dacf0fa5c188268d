//! Runs the property `cassette` on what libFuzzer makes up.
//!
//! `cargo +nightly fuzz run cassette fuzz/corpus/cassette fuzz/seeds/cassette`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| clitape_fuzz::cassette::check(bytes));
