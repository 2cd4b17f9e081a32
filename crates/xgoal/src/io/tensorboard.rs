//! Event files for TensorBoard: one scalar per name and epoch.
//!
//! A file is a row of records, each a protocol buffer between checksums:
//!
//! ```text
//!     length: u64 | masked CRC-32C of the length: u32 | Event | masked CRC-32C of the Event: u32
//!     Event   { 1: wall_time double, 2: step int64, 3: file_version string, 5: Summary, 7: SessionLog }
//!     Summary { 1: Value { 1: tag string, 2: simple_value float } .. }
//! ```

use crate::error::{Error, Result};
use crate::train::EpochRecord;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A file that is being written.
#[derive(Debug)]
pub struct EventFile {
    path: PathBuf,
    file: File,
    /// The names of the pairs of layers, in the order of their agreement.
    pairs: Vec<String>,
    step: u64,
}

impl EventFile {
    /// Begins a file in a folder, at an epoch: what older files there say of it and later ones no longer
    /// counts.
    pub fn create(folder: &Path, layers: &[String], step: u64) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        // Files are read in the order of their names, and two in one second are still two.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name =
            format!("events.out.tfevents.{}.{:09}.xgoal", since.as_secs(), since.subsec_nanos());
        let path = folder.join(name);
        let file = File::create_new(&path).map_err(|e| Error::io(&path, e))?;
        let pairs = (0..layers.len())
            .flat_map(|v| (v + 1..layers.len()).map(move |other| (v, other)))
            .map(|(v, other)| format!("{}-{}", layers[v], layers[other]))
            .collect();
        let mut events = Self { path, file, pairs, step };
        let mut version = event(0);
        field(&mut version, 3, b"brain.Event:2");
        events.write(&version)?;
        let mut start = event(step);
        field(&mut start, 7, &[1 << 3, 1]);
        events.write(&start)?;
        Ok(events)
    }

    /// Adds an epoch.
    pub fn record(&mut self, record: &EpochRecord) -> Result<()> {
        let mut summary = Vec::new();
        let mut add = |tag: &str, value: Option<f64>| {
            if let Some(value) = value {
                let mut one = Vec::new();
                field(&mut one, 1, tag.as_bytes());
                one.push(2 << 3 | 5);
                one.extend((value as f32).to_le_bytes());
                field(&mut summary, 1, &one);
            }
        };
        add("loss", Some(record.loss));
        add("terms/L_N", Some(record.l_n));
        add("terms/L_C", record.l_c);
        add("terms/R_N", record.r_n);
        add("terms/R_C", record.r_c);
        add("mutual information/nodes", record.mi_node);
        add("mutual information/clusters", record.mi_cluster);
        for (pair, cosine) in self.pairs.iter().zip(&record.agreement) {
            add(&format!("agreement/{pair}"), Some(*cosine));
        }
        add("seconds", Some(record.seconds));
        let mut event = event(self.step);
        field(&mut event, 5, &summary);
        self.step += 1;
        self.write(&event)
    }

    fn write(&mut self, event: &[u8]) -> Result<()> {
        let length = (event.len() as u64).to_le_bytes();
        let mut record = length.to_vec();
        record.extend(masked(&length).to_le_bytes());
        record.extend(event);
        record.extend(masked(event).to_le_bytes());
        self.file.write_all(&record).map_err(|e| Error::io(&self.path, e))
    }
}

/// An event of now, at a step.
fn event(step: u64) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut out = vec![1 << 3 | 1];
    out.extend(now.as_secs_f64().to_le_bytes());
    out.push(2 << 3);
    varint(&mut out, step);
    out
}

/// Bytes of a known length under a number.
fn field(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

/// Seven bits at a time, the lowest first.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The checksum as records hold it: turned and shifted, so that a record can hold records.
fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xA282_EAD8)
}

fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    let step = |crc: u32, byte: &u8| TABLE[(crc as u8 ^ byte) as usize] ^ crc >> 8;
    !bytes.iter().fold(!0, step)
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (mut crc, mut bit) = (i as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
    }

    #[test]
    fn a_file_is_a_row_of_checked_records() {
        let folder = tempfile::tempdir().unwrap();
        let layers = ["a".to_string(), "b".to_string()];
        let mut events = EventFile::create(folder.path(), &layers, 300).unwrap();
        let record = EpochRecord {
            stage: "warmup",
            epoch: 0,
            loss: 0.5,
            l_n: 0.25,
            l_n_layers: vec![0.25, 0.0],
            l_c: None,
            r_n: None,
            r_c: None,
            mi_node: None,
            mi_cluster: None,
            agreement: vec![0.75],
            reclustered: false,
            replaced: false,
            patience_left: 1,
            seconds: 0.1,
        };
        events.record(&record).unwrap();
        let bytes = std::fs::read(&events.path).unwrap();
        let mut rest = &bytes[..];
        let mut found = Vec::new();
        while !rest.is_empty() {
            let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
            assert_eq!(rest[8..12], masked(&rest[..8]).to_le_bytes());
            let event = &rest[12..12 + length];
            assert_eq!(rest[12 + length..16 + length], masked(event).to_le_bytes());
            found.push(event.to_vec());
            rest = &rest[16 + length..];
        }
        assert_eq!(found.len(), 3);
        // After the time, step 300 in two bytes.
        assert_eq!(found[2][9..12], [0x10, 0xAC, 0x02]);
        assert!(found[2].windows(13).any(|w| w == b"agreement/a-b"));
    }
}
