//! Runs the property `plan` on what libFuzzer makes up.
//!
//! `cargo +nightly fuzz run plan fuzz/corpus/plan fuzz/seeds/plan`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| clitape_fuzz::plan::check(bytes));
