//! The library's errors as the exceptions of `xgoal.errors`.

use pyo3::prelude::*;
use xgoal::Error;

/// The exception that stands for an error.
pub fn raise(error: Error) -> PyErr {
    Python::attach(|py| match &error {
        Error::Io { path, source } => {
            let arguments = (source.raw_os_error(), path, source.to_string());
            exception(py, "_file_error", arguments)
        }
        _ if error.is_memory() => exception(py, "OutOfMemoryError", (error.to_string(),)),
        Error::Parse { .. } => exception(py, "FormatError", (error.to_string(),)),
        Error::UnknownLayer { .. }
        | Error::UnknownBackend { .. }
        | Error::UnknownSetting { .. }
        | Error::Setting { .. } => exception(py, "ConfigError", (error.to_string(),)),
        Error::NonFinite { .. } => exception(py, "NonFiniteError", (error.to_string(),)),
        _ => exception(py, "DataError", (error.to_string(),)),
    })
}

/// A job that would not fit into memory.
pub fn too_large(message: &str) -> PyErr {
    Python::attach(|py| exception(py, "OutOfMemoryError", (message,)))
}

/// A mistake of this library, not of the user's.
pub fn internal(message: &str) -> PyErr {
    Python::attach(|py| exception(py, "InternalError", (message,)))
}

fn exception<'py, A>(py: Python<'py>, class: &str, arguments: A) -> PyErr
where
    A: pyo3::call::PyCallArgs<'py>,
{
    let made = py.import("xgoal.errors").and_then(|errors| errors.getattr(class)?.call1(arguments));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
