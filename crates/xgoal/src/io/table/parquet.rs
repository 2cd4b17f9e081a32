//! Parquet, column by column: flat columns of strings, numbers and booleans, and lists of numbers.

#[cfg(feature = "parquet")]
mod columns;
#[cfg(feature = "parquet")]
mod compact;
#[cfg(feature = "parquet")]
mod footer;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod reader;
#[cfg(feature = "parquet")]
mod structures;
#[cfg(not(feature = "parquet"))]
mod without;
#[cfg(feature = "parquet")]
mod writer;

#[cfg(feature = "parquet")]
pub(super) use reader::ParquetTable;
#[cfg(not(feature = "parquet"))]
pub(super) use without::ParquetTable;
#[cfg(not(feature = "parquet"))]
pub(crate) use without::{Groups, write};
#[cfg(feature = "parquet")]
pub(crate) use writer::{Groups, write};

#[cfg(all(test, feature = "parquet"))]
mod tests;
