//! Parquet, column by column: flat columns of strings, numbers and booleans, and lists of numbers.

#[cfg(feature = "parquet")]
mod columns;
#[cfg(feature = "parquet")]
mod reader;
#[cfg(not(feature = "parquet"))]
mod without;

#[cfg(feature = "parquet")]
pub(super) use reader::ParquetTable;
#[cfg(not(feature = "parquet"))]
pub(super) use without::ParquetTable;

#[cfg(all(test, feature = "parquet"))]
mod tests;
