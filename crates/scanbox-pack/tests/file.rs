//! Files of packs: what is written is read, and nothing else is.

use std::num::NonZero;

use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};
use scanbox_pack::file::{HEADER_BYTES, MAJOR, MINOR, seal};
use scanbox_pack::{FewSplit, Pack, PackData, PackError, Place, RecipePasses, Split};

use crate::packs::{any_pack, data, of_12_bytes, pack};

/// The file with something else in it, and a checksum that fits.
fn resealed(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut file = pack().write();
    change(&mut file);
    seal(&mut file);
    file
}

fn message(file: &[u8]) -> String {
    Pack::read(file).unwrap_err().to_string()
}

/// Everything that a program may do with a pack that was read: nothing of it fails.
pub fn use_all(pack: &Pack) {
    let data = pack.data();
    for recipe in data.recipes.iter().map(|recipe| &recipe.recipe) {
        let (min, max) = (recipe.min_n, recipe.max_n);
        for largest in [min, min + 1, max / 2, max - 1, max, u64::MAX] {
            let Some(laid_out) = recipe.laid_out(largest) else { continue };
            assert!(laid_out.scratch_bytes() < 1 << 60);
            for n in [0, 1, min, max / 3, max, u64::MAX] {
                let Some(launch) = laid_out.at(n) else { continue };
                assert!(launch.scratch().bytes <= laid_out.scratch_bytes());
                for step in launch.fill().into_iter().chain(launch.steps()).chain(laid_out.prepare()) {
                    let module = &data.modules[usize::from(*step.module())];
                    assert!(!module.words.is_empty() && step.workgroups > 0);
                    let offsets = step.places().filter_map(|place| match place {
                        Place::Scratch(offset) => Some(offset),
                        _ => None,
                    });
                    assert!(offsets.max().is_none_or(|offset| offset <= laid_out.scratch_bytes()));
                    assert!(step.words().count() <= 32);
                }
            }
        }
    }
}

#[test]
fn a_pack_is_read_as_it_was_written() {
    let (pack, file) = (pack(), pack().write());
    assert_eq!(Pack::read(&file).as_ref(), Ok(&pack));
    assert_eq!(Pack::read(&file).unwrap().write(), file);
    use_all(&pack);
    // Wherever the bytes stand.
    let behind = [&[0][..], &file].concat();
    assert_eq!(Pack::read(&behind[1..]), Ok(pack));
}

#[test]
fn each_changed_byte_is_found() {
    let file = pack().write();
    let mut changed = file.clone();
    for place in 0..file.len() {
        for flip in [1, 0x80, 0xff] {
            changed[place] ^= flip;
            assert!(Pack::read(&changed).is_err(), "byte {place} ^ {flip}");
            changed[place] ^= flip;
        }
    }
    changed[HEADER_BYTES + 200] ^= 4;
    assert!(matches!(Pack::read(&changed), Err(PackError::Damaged { .. })));
    let message = message(&changed);
    assert!(
        message.starts_with("the pack is damaged") && message.contains("copy the file again"),
        "{message}"
    );
}

#[test]
fn each_cut_and_each_tail_is_refused() {
    let file = pack().write();
    for length in 0..file.len() {
        let error = Pack::read(&file[..length]).unwrap_err();
        let expected = length > 0;
        assert_eq!(matches!(error, PackError::Cut { .. }), expected, "{length}: {error}");
    }
    assert_eq!(
        message(&file[..100]),
        format!(
            "the pack is cut: 100 of {} bytes are there; copy the whole file, or have it written again",
            file.len()
        )
    );
    let longer = [&file[..], b"\n"].concat();
    assert!(matches!(Pack::read(&longer), Err(PackError::TooLong { .. })));
    assert!(message(&longer).contains("something stands behind its end"));
    // Even where the header says so.
    assert!(message(&resealed(|file| file.push(0))).contains("the sections end at"));
    assert!(message(&resealed(|file| file.truncate(1000))).starts_with("the table of sections of the pack"));
}

#[test]
fn other_files_and_newer_ones_are_told_apart() {
    for other in [&b""[..], b"{\"format\":", b"family,batch_size", &[0; 4096], b"\x89PNG\r\n\x1a\n"] {
        assert_eq!(Pack::read(other), Err(PackError::NotAPack));
    }
    let newer = resealed(|file| file[8] = MAJOR as u8 + 1);
    assert_eq!(Pack::read(&newer), Err(PackError::Newer { major: MAJOR + 1, minor: MINOR }));
    assert_eq!(
        message(&newer),
        "the pack has version 6.0, and this library reads 5.0 and older: use a newer scanbox, or have the pack written \
         by this one"
    );
    // Text conversion changes a line end.
    let text = resealed(|file| file[6] = b' ');
    assert!(message(&text).contains("changed as text"));
    assert!(message(&resealed(|file| file[8] = 0)).contains("there is no version 0.0"));
}

/// A pack has the lowest version that has all of it, so that libraries of that time read it.
#[test]
fn the_version_is_that_of_what_is_in_a_pack() {
    let version = |change: fn(&mut PackData)| {
        let mut data = data();
        change(&mut data);
        let pack = Pack::new(data).unwrap();
        assert_eq!(Pack::read(&pack.write()).as_ref(), Ok(&pack));
        pack.write()[8]
    };
    assert_eq!(version(|_| ()), 1);
    assert_eq!(version(|data| data.problems[0].scan.reverse = true), 2);
    assert_eq!(version(|data| data.problems[0].scan.init = vec![7]), 2);
    assert_eq!(version(of_12_bytes), 3);
    let of_user = |data: &mut PackData| data.problems[0].scan.operator_hash = "77".to_owned();
    assert_eq!(version(of_user), 1);
    assert_eq!(
        version(|data| {
            data.problems[0].scan.operator_hash = "77".to_owned();
            data.problems[0].splittable = true;
        }),
        4
    );
    let few = |data: &mut PackData| {
        let row_elements = NonZero::new(100).unwrap();
        let few = FewSplit { most: 5, row_elements, rows: 8 };
        data.recipes[0].recipe.formula.split = Split::AtMostOrFew(few);
    };
    assert_eq!(version(few), 5);
    let mut data = data();
    data.problems[0].splittable = true;
    let error = Pack::new(data).unwrap_err().to_string();
    assert!(error.contains("as only operators of files do"), "{error}");
}

/// A pack with one more section, which nobody knows, and a higher minor version.
#[test]
fn unknown_sections_are_skipped() {
    let extended = resealed(|file| {
        let count = u32::from_le_bytes(file[32..36].try_into().unwrap());
        file[12] = MINOR as u8 + 1;
        file[32..36].copy_from_slice(&(count + 1).to_le_bytes());
        let table_end = HEADER_BYTES + 24 * count as usize;
        for entry in (HEADER_BYTES..table_end).step_by(24) {
            let at = u64::from_le_bytes(file[entry + 8..entry + 16].try_into().unwrap());
            file[entry + 8..entry + 16].copy_from_slice(&(at + 24).to_le_bytes());
        }
        let end = file.len() as u64 + 24;
        let entry = [&[99, 0, 0, 0, 0, 0, 0, 0][..], &end.to_le_bytes(), &5u64.to_le_bytes()].concat();
        file.splice(table_end..table_end, entry);
        file.extend(b"other");
    });
    assert_eq!(Pack::read(&extended), Ok(pack()));
}

#[test]
fn hostile_tables_of_sections_are_refused() {
    let entry = HEADER_BYTES;
    let set = |at: usize, value: u64| resealed(|file| file[at..at + 8].copy_from_slice(&value.to_le_bytes()));
    for value in [0, 1, 207, 209, 1 << 31, u64::MAX - 3, u64::MAX] {
        assert!(message(&set(entry + 8, value)).contains("where it should begin at 208"), "{value}");
        assert!(Pack::read(&set(entry + 16, value)).is_err(), "{value}");
    }
    let count = |count: u32| resealed(|file| file[32..36].copy_from_slice(&count.to_le_bytes()));
    assert!(message(&count(u32::MAX)).contains("4294967295 sections have no room"));
    assert!(Pack::read(&count(0)).is_err());
    assert!(Pack::read(&count(6)).is_err());
    assert!(message(&resealed(|file| file[entry + 24] = 1)).contains("it has the origin twice"));
    assert!(message(&resealed(|file| file[entry] = 77)).contains("it lacks the origin"));
}

#[test]
fn what_stands_in_sections_is_named() {
    let device = |change: fn(&mut Vec<u8>, usize)| {
        resealed(|file| {
            let at = u64::from_le_bytes(file[HEADER_BYTES + 32..HEADER_BYTES + 40].try_into().unwrap());
            change(file, at as usize);
        })
    };
    let long = device(|file, at| file[at + 3] = 0xff);
    assert!(message(&long).starts_with("the device of the pack: 4278190091 bytes are announced, and"));
    let binary = device(|file, at| file[at + 4] = 0xff);
    assert!(message(&binary).contains("a text is not UTF-8"));
    let bell = device(|file, at| file[at + 4] = 7);
    assert!(message(&bell).contains("control characters: \"\\u{7}VIDIA H200\""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_pack_is_read_as_it_was_written(pack in any_pack()) {
        let file = pack.write();
        prop_assert_eq!(Pack::read(&file), Ok(pack.clone()));
        use_all(&pack);
    }

    #[test]
    fn no_change_of_any_pack_escapes(pack in any_pack(), at in any::<prop::sample::Index>(), flip in 1..=255u8) {
        let mut file = pack.write();
        let at = at.index(file.len());
        file[at] ^= flip;
        prop_assert!(Pack::read(&file).is_err());
        file[at] ^= flip;
        prop_assert!(Pack::read(&file[..at]).is_err());
    }

    /// Whoever makes a checksum that fits gets no further: what can be read can be used, and is written as it was.
    #[test]
    fn forged_packs_are_refused_or_whole(
        pack in any_pack(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut file = pack.write();
        let length = file.len();
        changes.iter().for_each(|(at, byte)| file[at.index(length)] = *byte);
        seal(&mut file);
        if let Ok(pack) = Pack::read(&file) {
            use_all(&pack);
            let again = Pack::read(&pack.write());
            prop_assert_eq!(again, Ok(pack));
        }
    }

    #[test]
    fn any_bytes_are_refused_or_whole(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut file = pack().write();
        let kept = HEADER_BYTES.min(file.len());
        file.splice(kept.., bytes);
        seal(&mut file);
        prop_assert!(Pack::read(&file).is_err());
    }
}

#[test]
fn places_do_not_run_out_unnoticed() {
    let mut data = data();
    let one = data.modules[0].clone();
    data.modules.resize(1 << 16, one);
    let RecipePasses::One(pass) = &mut data.recipes[0].recipe.passes else { panic!("it has one pass") };
    pass.module = u16::MAX;
    let pack = Pack::new(data.clone()).unwrap();
    assert_eq!(Pack::read(&pack.write()), Ok(pack));
    data.modules.push(data.modules[0].clone());
    let error = Pack::new(data).unwrap_err().to_string();
    assert!(error.contains("65537 modules, and there may be 65536"), "{error}");
}
