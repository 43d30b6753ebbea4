//! The file of a pack.
//!
//! All numbers are little-endian. It begins with a header of [`HEADER_BYTES`]: [`MAGIC`]; the version, a major and a
//! minor number of 32 bits each; the bytes of the whole file, 64 bits; its checksum, 64 bits; how many sections there
//! are, 32 bits, and 32 bits of zeros. A table follows with a number (32 bits), 32 bits of zeros, the place in the file
//! and the bytes (64 bits each) of each section, and then the sections, in the order of the table and without gaps.
//! Their contents: `coded.rs`.
//!
//! A higher minor version has more kinds of sections, which are skipped; whoever changes a section raises the major
//! one.
//!
//! The checksum finds damage, not forgery: anybody can make one that fits. A pack has code that runs on the user's
//! GPU, so it should come from somebody whom its user trusts, by a way that nobody else writes to.

use crate::coded::{Coded, SectionRest};
use crate::contents::{ModuleHash, PackData, PackModule};
use crate::error::PackError;
use crate::pack::Pack;
use crate::promises::FeatureSet;
use crate::version::{FIRST, major};
pub use crate::version::{MAJOR, MINOR};

/// The first bytes: not text, with a line end of each kind, which transfers as text change.
pub const MAGIC: [u8; 8] = *b"\x89SCNPK\r\n";
/// Bytes before the table of sections.
pub const HEADER_BYTES: usize = 40;

/// Where the length stands.
const LENGTH_AT: usize = 16;
/// Where the checksum stands, which leaves itself out.
const CHECKSUM_AT: usize = 24;
/// Bytes of an entry in the table.
const ENTRY_BYTES: usize = 24;

/// The sections: their numbers, and their names for messages.
const SECTIONS: [(u32, &str); 7] = [
    (1, "the origin"),
    (2, "the device"),
    (3, "the problems"),
    (4, "the recipes"),
    (5, "the times"),
    (6, "the table of modules"),
    (7, "the code"),
];

/// FNV-1a of 64 bits over a file without its checksum. Each step can be undone, so that no single byte changes without
/// changing it.
#[must_use]
pub fn checksum(file: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (place, byte) in file.iter().enumerate() {
        if !(CHECKSUM_AT..CHECKSUM_AT + 8).contains(&place) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

/// Writes length and checksum into the header of a file, so that they fit it. For programs that write or change packs;
/// a file that is too short for a header stays as it is.
pub fn seal(file: &mut [u8]) {
    if file.len() < HEADER_BYTES {
        return;
    }
    let length = file.len() as u64;
    file[LENGTH_AT..CHECKSUM_AT].copy_from_slice(&length.to_le_bytes());
    let sum = checksum(file);
    file[CHECKSUM_AT..CHECKSUM_AT + 8].copy_from_slice(&sum.to_le_bytes());
}

/// What the table says of a module: its words stand in the code, behind those of the module before.
struct ModuleEntry {
    hash: ModuleHash,
    numbers: [u32; 4],
    features: FeatureSet,
}

impl Coded for ModuleEntry {
    fn put(&self, out: &mut Vec<u8>) {
        self.hash.put(out);
        self.numbers.iter().for_each(|number| number.put(out));
        self.features.put(out);
    }

    fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
        let hash = Coded::take(input)?;
        let [[a, b], [c, d]] = Coded::take(input)?;
        Ok(Self { hash, numbers: [a, b, c, d], features: FeatureSet::take(input)? })
    }
}

impl Pack {
    /// The file of it.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let PackData {
            written_by,
            kernel_hash,
            licence,
            measured_utc,
            device,
            problems,
            recipes,
            times,
            modules,
        } = self.data();
        let mut sections: [Vec<u8>; SECTIONS.len()] = Default::default();
        let [origin, of_device, of_problems, of_recipes, of_times, of_modules, code] = &mut sections;
        [written_by, kernel_hash, licence, measured_utc].into_iter().for_each(|text| text.put(origin));
        device.put(of_device);
        problems.put(of_problems);
        recipes.put(of_recipes);
        times.put(of_times);
        let entry = |module: &PackModule| ModuleEntry {
            hash: module.hash,
            numbers: [
                module.words.len() as u32,
                module.subgroup_size,
                module.workgroup_size,
                module.shared_bytes,
            ],
            features: module.features,
        };
        modules.iter().map(entry).collect::<Vec<_>>().put(of_modules);
        modules.iter().flat_map(|module| &module.words).for_each(|word| word.put(code));

        let mut file = MAGIC.to_vec();
        [major(self.data()), MINOR].into_iter().for_each(|number| number.put(&mut file));
        [0u64; 2].put(&mut file);
        [SECTIONS.len() as u32, 0].put(&mut file);
        let mut at = HEADER_BYTES + SECTIONS.len() * ENTRY_BYTES;
        for ((number, _), section) in SECTIONS.iter().zip(&sections) {
            [*number, 0].put(&mut file);
            [at as u64, section.len() as u64].put(&mut file);
            at += section.len();
        }
        sections.iter().for_each(|section| file.extend(section));
        seal(&mut file);
        file
    }

    /// The pack in a file. Its code is copied, so that the bytes may stand anywhere.
    ///
    /// What is found is damage, and contents that do not fit together. Who wrote the file is not: see [`crate::file`].
    ///
    /// # Errors
    /// Why it cannot be read, or must not be used, and what helps.
    pub fn read(file: &[u8]) -> Result<Self, PackError> {
        check_header(file)?;
        let [origin, device, problems, recipes, times, modules, code] = sections(file)?;
        let mut origin = SectionRest::new(origin, SECTIONS[0].1);
        let [written_by, kernel_hash]: [String; 2] = Coded::take(&mut origin)?;
        let [licence, measured_utc]: [String; 2] = Coded::take(&mut origin)?;
        origin.end()?;
        Self::new(PackData {
            written_by,
            kernel_hash,
            licence,
            measured_utc,
            device: whole(device, SECTIONS[1].1)?,
            problems: whole(problems, SECTIONS[2].1)?,
            recipes: whole(recipes, SECTIONS[3].1)?,
            times: whole(times, SECTIONS[4].1)?,
            modules: with_code(whole(modules, SECTIONS[5].1)?, code)?,
        })
    }
}

/// A section that is one value.
fn whole<T: Coded>(section: &[u8], name: &'static str) -> Result<T, PackError> {
    let mut input = SectionRest::new(section, name);
    let value = T::take(&mut input)?;
    input.end()?;
    Ok(value)
}

fn check_header(file: &[u8]) -> Result<(), PackError> {
    let bytes = file.len() as u64;
    let begins = &file[..file.len().min(MAGIC.len())];
    if begins.is_empty() || !MAGIC.starts_with(begins) {
        return Err(PackError::NotAPack);
    }
    if file.len() < HEADER_BYTES {
        return Err(PackError::Cut { bytes, needed: HEADER_BYTES as u64 });
    }
    let mut input = SectionRest::new(&file[MAGIC.len()..], "the header");
    let [major, minor] = Coded::take(&mut input)?;
    if major > MAJOR {
        return Err(PackError::Newer { major, minor });
    }
    let [needed, said]: [u64; 2] = Coded::take(&mut input)?;
    match needed {
        _ if needed > bytes => return Err(PackError::Cut { bytes, needed }),
        _ if needed < bytes => return Err(PackError::TooLong { bytes, needed }),
        _ => {}
    }
    let found = checksum(file);
    if found != said {
        return Err(PackError::Damaged { said, found });
    }
    if major < FIRST {
        return Err(PackError::malformed("the header", format!("there is no version {major}.{minor}")));
    }
    Ok(())
}

/// The sections that this version knows, in order.
fn sections(file: &[u8]) -> Result<[&[u8]; SECTIONS.len()], PackError> {
    let wrong = |wrong: String| PackError::malformed("the table of sections", wrong);
    let mut input = SectionRest::new(&file[HEADER_BYTES - 8..], "the table of sections");
    let [count, zero]: [u32; 2] = Coded::take(&mut input)?;
    let needed = u64::from(count) * ENTRY_BYTES as u64 + HEADER_BYTES as u64;
    if needed > file.len() as u64 || zero != 0 {
        return Err(wrong(format!("{count} sections have no room in {} bytes", file.len())));
    }
    let mut found: [Option<&[u8]>; SECTIONS.len()] = [None; SECTIONS.len()];
    let mut end = needed;
    for _ in 0..count {
        let [number, zero]: [u32; 2] = Coded::take(&mut input)?;
        let [at, bytes]: [u64; 2] = Coded::take(&mut input)?;
        let behind = at.checked_add(bytes).filter(|behind| *behind <= file.len() as u64);
        let Some(behind) = behind.filter(|_| at == end && zero == 0) else {
            return Err(wrong(format!(
                "section {number} has {bytes} bytes at {at}, where it should begin at {end}, in a file of {} bytes",
                file.len()
            )));
        };
        end = behind;
        if let Some(place) = SECTIONS.iter().position(|(known, _)| *known == number)
            && found[place].replace(&file[at as usize..behind as usize]).is_some()
        {
            return Err(wrong(format!("it has {} twice", SECTIONS[place].1)));
        }
    }
    if end != file.len() as u64 {
        return Err(wrong(format!("the sections end at {end}, and the file at {}", file.len())));
    }
    if let Some(place) = found.iter().position(Option::is_none) {
        return Err(wrong(format!("it lacks {}", SECTIONS[place].1)));
    }
    Ok(found.map(Option::unwrap_or_default))
}

/// Modules with their words.
fn with_code(entries: Vec<ModuleEntry>, code: &[u8]) -> Result<Vec<PackModule>, PackError> {
    let mut rest = code;
    let mut modules = Vec::new();
    for (place, ModuleEntry { hash, numbers, features }) in entries.into_iter().enumerate() {
        let [count, subgroup_size, workgroup_size, shared_bytes] = numbers;
        let Some((words, behind)) = rest.split_at_checked((count as usize).saturating_mul(4)) else {
            let wrong = format!("module {place} has {count} words, and {} bytes are left", rest.len());
            return Err(PackError::malformed("the code", wrong));
        };
        rest = behind;
        let words = words.chunks_exact(4).map(|word| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(word);
            u32::from_le_bytes(bytes)
        });
        let words = words.collect();
        modules.push(PackModule { hash, subgroup_size, workgroup_size, shared_bytes, features, words });
    }
    if !rest.is_empty() {
        return Err(PackError::malformed("the code", format!("{} bytes belong to no module", rest.len())));
    }
    Ok(modules)
}
