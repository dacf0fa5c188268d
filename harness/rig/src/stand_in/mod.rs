//! The program that a gateway starts in place of `claude`: it replays a cassette on real pipes.
