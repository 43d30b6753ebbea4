//! Push constants, and how workgroups are spread over the dimensions of a dispatch.

/// Push constants in bytes: what every device has (Vulkan 1.3, table 54, maxPushConstantsSize).
pub const PUSH_BYTES: usize = 128;

/// Push constants: the shape of the dispatch, addresses, then words. Some of them change from call to call: whoever
/// added them remembers their places, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Push {
    bytes: [u8; PUSH_BYTES],
    length: usize,
}

impl Push {
    /// `shape`: workgroups in a row, and in all rows.
    #[must_use]
    pub fn new(shape: [u32; 2]) -> Self {
        let mut push = Self { bytes: [0; PUSH_BYTES], length: 0 };
        for word in shape {
            push.append(&word.to_ne_bytes()).expect("there is room for two words");
        }
        push
    }

    /// Adds an address. Returns its place; `None` where there is no room.
    pub fn add_address(&mut self, address: u64) -> Option<usize> {
        self.append(&address.to_ne_bytes())
    }

    /// Adds a word. Returns its place; `None` where there is no room.
    pub fn add_word(&mut self, word: u32) -> Option<usize> {
        self.append(&word.to_ne_bytes())
    }

    fn append(&mut self, bytes: &[u8]) -> Option<usize> {
        let place = self.length;
        self.bytes.get_mut(place..place + bytes.len())?.copy_from_slice(bytes);
        self.length += bytes.len();
        Some(place)
    }

    /// Changes the address at this place.
    ///
    /// # Panics
    ///
    /// Where the push constants end before it does.
    pub fn set_address(&mut self, place: usize, address: u64) {
        self.set(place, &address.to_ne_bytes());
    }

    /// Changes the word at this place.
    ///
    /// # Panics
    ///
    /// Where the push constants end before it does.
    pub fn set_word(&mut self, place: usize, word: u32) {
        self.set(place, &word.to_ne_bytes());
    }

    fn set(&mut self, place: usize, bytes: &[u8]) {
        self.bytes[..self.length][place..place + bytes.len()].copy_from_slice(bytes);
    }

    /// All of them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Workgroups in a row and rows: at least `workgroups` of them in all, and less than one per row more.
/// `None` where that many do not fit the dimensions or 32 bits.
#[must_use]
pub fn spread(workgroups: u64, max: [u32; 3]) -> Option<[u32; 2]> {
    // The fewest rows, then evenly: 65,536 are 2 rows of 32,768, not of 65,535.
    let rows = workgroups.div_ceil(max[0].into()).max(1);
    let row = workgroups.div_ceil(rows).max(1);
    u32::try_from(row * rows).ok()?;
    (rows <= max[1].into()).then_some([row as u32, rows as u32])
}
