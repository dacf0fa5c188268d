mod agreed;
mod instructions;
mod made_from;
mod review;
