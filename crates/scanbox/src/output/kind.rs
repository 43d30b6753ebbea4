//! What a file is: which of those that scanbox writes, or somebody else's.

use std::fs;
use std::io;
use std::path::Path;

use scanbox_model::csv_file::{self, CsvError};
use scanbox_model::metadata::{Metadata, MetadataError};
use scanbox_model::record::{COLUMNS, SCHEMA};
use scanbox_model::whole_file;

use scanbox_report::compiled;
use scanbox_report::figure::{PDF_MARK, SVG_MARK};
use scanbox_session::store::companions;
use serde::de::IgnoredAny;

/// What there is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Nothing,
    /// A file without content.
    Empty,
    /// A folder.
    Folder,
    /// What can be written to, and holds nothing: a pipe, a terminal, `/dev/null`.
    Stream,
    /// No file: a disk, a socket.
    Device,
    /// A link that leads nowhere.
    DeadLink,
    /// Rows of a sweep.
    Sweep,
    /// Rows of a benchmark.
    Benchmark,
    /// Rows that came through `scanbox import`.
    Import,
    /// Base and new measured in turns.
    Pairs,
    /// The header of a file of rows, or the beginning of one.
    NoRows,
    /// A file of rows that cannot be read.
    BrokenRows,
    /// Metadata of a sweep.
    SweepMetadata,
    /// Metadata of a benchmark.
    BenchmarkMetadata,
    /// The beginning of metadata.
    TornMetadata,
    /// The journal of a sweep.
    Journal,
    /// The lock of a sweep.
    Lock,
    /// A page of `scanbox report`.
    Page,
    /// A picture that scanbox drew.
    Picture,
    /// An export in the format T4.
    T4,
    /// An export as JSON.
    JsonRows,
    /// Kernels for programs.
    Pack,
    /// A file among exported kernels.
    KernelFile,
    /// So little that it may be the beginning of what scanbox writes, or of anything.
    Piece,
    /// Bytes that are no text: of somebody else, or what a crash has left.
    Bytes,
    /// Somebody else's.
    Foreign,
}

impl Kind {
    /// What a user calls it.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Nothing => "not there",
            Self::Empty => "an empty file",
            Self::Folder => "a folder",
            Self::Stream => "no file that could be replaced",
            Self::Device => "no file",
            Self::DeadLink => "a link that leads nowhere",
            Self::Sweep => "a file with rows of a sweep",
            Self::Benchmark => "a file with rows of a benchmark",
            Self::Import => "a file with rows of `scanbox import`",
            Self::Pairs => "a file of pairs of `scanbox rerun`",
            Self::NoRows => "a file of rows that has none yet",
            Self::BrokenRows => "a file of rows that cannot be read",
            Self::SweepMetadata => "the metadata of a sweep",
            Self::BenchmarkMetadata => "the metadata of a benchmark",
            Self::TornMetadata => "metadata that was cut off",
            Self::Journal => "the journal of a sweep",
            Self::Lock => "the lock of a sweep",
            Self::Page => "a page of `scanbox report`",
            Self::Picture => "a picture of scanbox",
            Self::T4 => "an export in the format T4",
            Self::JsonRows => "an export as JSON",
            Self::Pack => "a pack",
            Self::KernelFile => "a file of exported kernels",
            Self::Piece | Self::Bytes | Self::Foreign => "a file that scanbox has not written",
        }
    }

    /// Looks at what is there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &Path) -> io::Result<Self> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(if path.is_symlink() { Self::DeadLink } else { Self::Nothing });
            }
            Err(error) => return Err(error),
        };
        if metadata.is_dir() {
            return Ok(Self::Folder);
        }
        if whole_file::is_stream(path) {
            return Ok(if is_disk_or_socket(&metadata) { Self::Device } else { Self::Stream });
        }
        if metadata.len() == 0 {
            return Ok(Self::Empty);
        }
        Ok(Self::of_bytes(&fs::read(path)?, path))
    }

    fn of_bytes(bytes: &[u8], path: &Path) -> Self {
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
        let head = head.trim_start_matches('\u{feff}');
        let is = |begin: &str| head.starts_with(begin);
        if bytes.starts_with(&scanbox_pack::file::MAGIC) {
            return Self::Pack;
        }
        if bytes.starts_with(b"%PDF-") && contains(bytes, PDF_MARK.as_bytes()) {
            return Self::Picture;
        }
        let is_code = bytes.starts_with(&SPIRV_MAGIC) && is_named_by_hash(path);
        if is_code || KERNEL_FILES.iter().any(|begin| is(begin)) || is_flat_kernel(head) {
            return Self::KernelFile;
        }
        if is("<!DOCTYPE html>") && head.contains(PAGE_MARK) {
            return Self::Page;
        }
        // Before there was a mark, the title of a figure said who drew it.
        if is("<svg ") && (head.contains(SVG_MARK) || head.lines().any(is_old_title)) {
            return Self::Picture;
        }
        if is("{\"schema_version\":") && contains(bytes, b"\"tool\":\"scanbox\"") {
            return Self::T4;
        }
        let keys = ["\"config_id\":", "\"kernel_hash\":", "\"run_id\":", "\"schema\":"];
        if is("[\n{") && keys.iter().all(|key| head.contains(key)) {
            return Self::JsonRows;
        }
        match Metadata::from_bytes(bytes, path) {
            Ok(metadata) if metadata.is_of_benchmark() => return Self::BenchmarkMetadata,
            // Whoever reads one of another schema says so.
            Ok(_) | Err(MetadataError::Schema { .. }) => return Self::SweepMetadata,
            Err(_) => {}
        }
        let metadata = format!("{{\n  \"schema\": {SCHEMA},\n  \"tool_version\": ");
        // What is whole, and no metadata, is somebody else's.
        if is(&metadata) && serde_json::from_slice::<IgnoredAny>(bytes).is_err() {
            return Self::TornMetadata;
        }
        let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        if text.is_some_and(companions::is_journal) {
            return Self::Journal;
        }
        if text.is_some_and(companions::is_lock) {
            return Self::Lock;
        }
        if is(PAIRS_HEADER) {
            return Self::Pairs;
        }
        // It shares names of columns with rows.
        if is(compiled::FIRST_COLUMNS) {
            return Self::Foreign;
        }
        match Self::of_rows(bytes, head, path) {
            Self::Foreign if metadata.starts_with(head) || companions::may_begin_journal(head) => Self::Piece,
            kind => kind,
        }
    }

    fn of_rows(bytes: &[u8], head: &str, path: &Path) -> Self {
        let header = head.lines().next().unwrap_or_default();
        let known = |name: &&str| COLUMNS.iter().any(|column| column.name == name.trim().trim_matches('"'));
        let names = header.split(',').filter(known).count();
        let ours: String = COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>().join(",");
        if names < MANY_COLUMNS {
            let is_text = !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok();
            return match is_text {
                true if ours.starts_with(head) => Self::Piece,
                true => Self::Foreign,
                false => Self::Bytes,
            };
        }
        let (mut sweep, mut imported, mut rows) = (false, true, 0);
        let read = csv_file::for_each_of_bytes(bytes, path, |row| {
            let record = row.record;
            rows += 1;
            // Where a shard begins there are anchors alone.
            sweep = sweep || !record.is_of_benchmark() || record.is_anchor();
            // Whoever imports rows does not know the kernels that they ran beside.
            imported = imported && record.kernel_hash.is_empty();
            Ok::<(), CsvError>(())
        });
        match read {
            Err(_) => Self::BrokenRows,
            Ok(_) if rows == 0 => Self::NoRows,
            Ok(_) if sweep => Self::Sweep,
            Ok(_) if imported => Self::Import,
            Ok(_) => Self::Benchmark,
        }
    }
}

/// Bytes that say what a file is.
const HEAD: usize = 4096;
/// What pages say of themselves.
const PAGE_MARK: &str = "<meta name=\"generator\" content=\"scanbox ";
/// The first columns of a file of pairs.
const PAIRS_HEADER: &str = "n_elements,config_id,round,base_1_ns,new_1_ns,";
/// The first word of SPIR-V.
const SPIRV_MAGIC: [u8; 4] = [3, 2, 0x23, 7];
/// How the README beside exported kernels begins, and their recipes.
const KERNEL_FILES: [&str; 2] =
    ["# Scan kernels\n\nWritten by scanbox ", "{\n  \"format\": \"scanbox-pack\",\n  \"major\": "];
/// So many names of columns in one line are no chance.
const MANY_COLUMNS: usize = 8;

/// Whether a file is called as modules among exported kernels are.
fn is_named_by_hash(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.len() == 12 && stem.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a shader has the head of an exported one.
fn is_flat_kernel(head: &str) -> bool {
    let mut lines = head.lines();
    let [version, licence, tool] = [lines.next(), lines.next(), lines.next()].map(Option::unwrap_or_default);
    let ours = tool.starts_with("// scanbox ") && tool.contains(", kernel sources ");
    version.starts_with("#version ") && licence.starts_with("// SPDX-License-Identifier: ") && ours
}

/// Whether a line of a picture is a title of the versions before [`SVG_MARK`]: it ends with who drew it.
fn is_old_title(line: &str) -> bool {
    let version = line.rsplit_once(", scanbox ").map(|(_, version)| version);
    version.is_some_and(|version| {
        let parts: Vec<&str> = version.split('.').collect();
        parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok())
    })
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(unix)]
fn is_disk_or_socket(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_block_device() || metadata.file_type().is_socket()
}

#[cfg(not(unix))]
fn is_disk_or_socket(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use scanbox_model::pair_file;
    use scanbox_model::record::Status;

    use super::*;

    #[test]
    fn pairs_are_known_by_their_header() {
        let row = pair_file::PairRow {
            n_elements: 1,
            config_id: "b4.vec4.par.rake.wg64".into(),
            round: 0,
            base_1_ns: None,
            new_1_ns: None,
            base_2_ns: None,
            new_2_ns: None,
            status: Status::Timeout,
            failed: "new".into(),
            reason: "late".into(),
            base_run: "run".into(),
            base_version: "1".into(),
            new_version: "2".into(),
            device: "Replay".into(),
            device_uuid: String::new(),
            driver: String::new(),
            timestamp_utc: "2026-11-22T15:36:08Z".into(),
            new_run: String::new(),
        };
        let mut bytes = Vec::new();
        pair_file::write(&mut bytes, &[row]).unwrap();
        assert_eq!(Kind::of_bytes(&bytes, Path::new("pairs.csv")), Kind::Pairs);
    }
}
