//! Runs the property `scenario` on what libFuzzer makes up.
//!
//! `cargo +nightly fuzz run scenario fuzz/corpus/scenario fuzz/seeds/scenario`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| clitape_fuzz::scenario::check(bytes));
