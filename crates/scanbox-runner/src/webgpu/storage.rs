//! What shaders bind, read off their text.

/// How a shader uses a storage buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StorageUse {
    /// It reads it.
    Read,
    /// It reads and writes it.
    ReadWrite,
}

/// The storage buffers of a shader, from binding 1 on. One that it does not name is one that it reads.
pub fn storage_of(text: &str) -> Vec<StorageUse> {
    let mut all = Vec::new();
    for part in text.split("@binding(").skip(1) {
        let Some((number, rest)) = part.split_once(')') else { continue };
        let Ok(number) = number.trim().trim_end_matches('u').parse::<usize>() else { continue };
        let space = rest.split_once("var<").and_then(|(_, rest)| rest.split_once('>'));
        let Some((space, _)) = space.filter(|_| number > 0) else { continue };
        all.resize(all.len().max(number), StorageUse::Read);
        if space.contains("read_write") {
            all[number - 1] = StorageUse::ReadWrite;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_are_read_off_the_text() {
        use StorageUse::{Read, ReadWrite};
        for (text, expected) in [
            ("", &[][..]),
            ("@group(0) @binding(0) var<uniform> call: BoundCall;", &[]),
            (
                "@binding(0) var<uniform> call: BoundCall;\n@binding(1) var<storage, read> a: array<u32>;",
                &[Read],
            ),
            (
                "@binding(2) var<storage, read_write> b: array<atomic<u32>>;\n@binding(1)\nvar<storage> a: X;",
                &[Read, ReadWrite],
            ),
            ("@group(0) @binding(3)var<storage,read_write>c: array<u32>;", &[Read, Read, ReadWrite]),
        ] {
            assert_eq!(storage_of(text), expected, "{text}");
        }
    }
}
