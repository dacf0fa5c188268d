//! The `clitape` command: the only place that reads arguments, the environment and the terminal.

fn main() {}
