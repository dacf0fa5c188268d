//! The rules that hold what a person saw against what the cassette says; none of them needs a golden.
