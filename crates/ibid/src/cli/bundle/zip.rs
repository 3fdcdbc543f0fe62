//! A ZIP archive with stored entries: all that an `.mcpb` bundle needs.

use ibid_api::{Error, ErrorCode, Result};

/// Permissions of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A file.
    File,
    /// A file that may be run.
    Program,
}

impl Mode {
    /// Type and permissions as Unix writes them, in the upper half of the external attributes.
    fn attributes(self) -> u32 {
        let mode: u32 = match self {
            Self::File => 0o100_644,
            Self::Program => 0o100_755,
        };
        mode << 16
    }
}

const VERSION_NEEDED: u16 = 20;
/// Made by Unix, so that permissions are honoured.
const VERSION_MADE_BY: u16 = 3 << 8 | VERSION_NEEDED;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
const STORED: u16 = 0;
/// 1980-01-01 00:00, the first moment ZIP knows: the same input makes the same archive.
const TIME: u16 = 0;
const DATE: u16 = 1 << 5 | 1;

/// Writes an archive into memory.
#[derive(Debug, Default)]
pub(super) struct Writer {
    archive: Vec<u8>,
    directory: Vec<u8>,
    n_entries: u16,
}

impl Writer {
    /// Adds an entry.
    pub(super) fn add(&mut self, name: &str, content: &[u8], mode: Mode) -> Result<()> {
        let (offset, size) = (size32(self.archive.len())?, size32(content.len())?);
        let name_size = u16::try_from(name.len()).map_err(|_| too_large())?;
        let crc = crc32(content);
        // What the local header and the directory have in common.
        let mut shared = Vec::new();
        for field in [VERSION_NEEDED, FLAGS, STORED, TIME, DATE] {
            shared.extend(field.to_le_bytes());
        }
        for field in [crc, size, size] {
            shared.extend(field.to_le_bytes());
        }
        shared.extend(name_size.to_le_bytes());
        shared.extend(0_u16.to_le_bytes());

        self.archive.extend(b"PK\x03\x04");
        self.archive.extend(&shared);
        self.archive.extend(name.as_bytes());
        self.archive.extend(content);

        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(VERSION_MADE_BY.to_le_bytes());
        self.directory.extend(&shared);
        // No comment, first disk, not text.
        self.directory.extend([0; 6]);
        self.directory.extend(mode.attributes().to_le_bytes());
        self.directory.extend(offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.n_entries += 1;
        Ok(())
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        let (offset, size) = (size32(self.archive.len())?, size32(self.directory.len())?);
        self.archive.append(&mut self.directory);
        self.archive.extend(b"PK\x05\x06");
        self.archive.extend([0; 4]);
        self.archive.extend(self.n_entries.to_le_bytes());
        self.archive.extend(self.n_entries.to_le_bytes());
        self.archive.extend(size.to_le_bytes());
        self.archive.extend(offset.to_le_bytes());
        self.archive.extend(0_u16.to_le_bytes());
        Ok(self.archive)
    }
}

fn size32(size: usize) -> Result<u32> {
    u32::try_from(size).map_err(|_| too_large())
}

fn too_large() -> Error {
    Error::new(ErrorCode::QueryTooLarge, "the bundle would be larger than a ZIP archive can be")
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0_u32; 256];
    for (entry, index) in table.iter_mut().zip(0_u32..) {
        *entry = (0..8).fold(index, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 });
    }
    !bytes.iter().fold(!0, |crc, byte| table[usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_standard_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn the_directory_leads_to_every_entry() {
        let mut writer = Writer::default();
        writer.add("a.txt", b"alpha", Mode::File).unwrap();
        writer.add("dir/b", b"beta", Mode::Program).unwrap();
        let archive = writer.finish().unwrap();
        let u16_at = |at: usize| usize::from(u16::from_le_bytes(archive[at..at + 2].try_into().unwrap()));
        let u32_at = |at: usize| u32::from_le_bytes(archive[at..at + 4].try_into().unwrap());
        let end = archive.len() - 22;
        assert_eq!(&archive[end..end + 4], b"PK\x05\x06");
        let mut at = u32_at(end + 16) as usize;
        let mut found = Vec::new();
        for _ in 0..u16_at(end + 10) {
            assert_eq!(&archive[at..at + 4], b"PK\x01\x02");
            let name_size = u16_at(at + 28);
            let name = String::from_utf8(archive[at + 46..at + 46 + name_size].to_vec()).unwrap();
            let local = u32_at(at + 42) as usize;
            let size = u32_at(local + 22) as usize;
            let start = local + 30 + u16_at(local + 26);
            let content = &archive[start..start + size];
            assert_eq!(u32_at(local + 14), crc32(content));
            found.push((name, content.to_vec(), u32_at(at + 38) >> 16 & 0o777));
            at += 46 + name_size;
        }
        let want = [("a.txt", "alpha", 0o644), ("dir/b", "beta", 0o755)];
        let want = want.map(|(name, content, mode)| (name.to_owned(), content.as_bytes().to_vec(), mode));
        assert_eq!(found, want);
    }
}
