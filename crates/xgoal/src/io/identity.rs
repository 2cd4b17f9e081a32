//! Which file a name leads to, whatever ways lead there.

use std::fs::{File, Metadata};
use std::io::Result;
use std::path::Path;

/// What tells a file or folder from every other that is there at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    #[cfg(unix)]
    device_and_number: (u64, u64),
}

impl Identity {
    /// Of what is behind a path and its links.
    pub fn of(path: &Path) -> Result<Self> {
        path.metadata().map(|found| Self::from(&found))
    }

    /// Of what is at a path, a link itself where it is one.
    pub fn of_link(path: &Path) -> Result<Self> {
        path.symlink_metadata().map(|found| Self::from(&found))
    }

    /// Of an open file.
    pub fn of_file(file: &File) -> Result<Self> {
        file.metadata().map(|found| Self::from(&found))
    }
}

#[cfg(unix)]
impl From<&Metadata> for Identity {
    fn from(found: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device_and_number: (found.dev(), found.ino()) }
    }
}

/// Nothing is known elsewhere, where a file that is open cannot be replaced either.
#[cfg(not(unix))]
impl From<&Metadata> for Identity {
    fn from(_: &Metadata) -> Self {
        Self {}
    }
}
