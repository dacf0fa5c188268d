mod bundled;
mod packages;
