//! Planted graphs.
