mod dialogue;
mod plan;
