//! The gateways of `clitape.toml`: how to start them, to talk to them, and to know that they are done.
