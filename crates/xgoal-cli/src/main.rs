//! The `xgoal` command.

fn main() {}
