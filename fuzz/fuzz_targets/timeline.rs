//! Runs the property `timeline` on what libFuzzer makes up.
//!
//! `cargo +nightly fuzz run timeline fuzz/corpus/timeline fuzz/seeds/timeline`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| clitape_fuzz::timeline::check(bytes));
