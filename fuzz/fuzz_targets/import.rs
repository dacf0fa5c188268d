//! Runs the property `import` on what libFuzzer makes up.
//!
//! `cargo +nightly fuzz run import fuzz/corpus/import fuzz/seeds/import`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| clitape_fuzz::import::check(bytes));
