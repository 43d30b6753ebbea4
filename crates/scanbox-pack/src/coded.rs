//! How values stand in a pack: numbers in little-endian order, texts and lists behind their lengths, enumerations as a
//! byte and what it has.

use std::num::NonZero;

use crate::contents::{
    Breakpoint, CallUse, ChoiceTable, ModuleHash, PackDevice, PackProblem, PackRecipe, PackTime, ScanMode,
    ScanProblem,
};
use crate::error::PackError;
use crate::formula::{FewSplit, Formula, GroupState, Split, StatesBegin, StatesFormula, TicketRule};
use crate::promises::{FeatureSet, Promises};
use crate::recipe::{
    ArgumentKind, CallSizes, FillRecipe, LevelPasses, Place, Prepare, Recipe, RecipePass, RecipePasses,
    RecipeWord, ScratchPart,
};
use crate::scratch::{PushWord, ScratchContent};

/// The rest of a section.
pub(crate) struct SectionRest<'a> {
    rest: &'a [u8],
    /// The section, for messages.
    name: &'static str,
    /// Its bytes.
    bytes: usize,
}

impl<'a> SectionRest<'a> {
    pub(crate) fn new(section: &'a [u8], name: &'static str) -> Self {
        Self { rest: section, name, bytes: section.len() }
    }

    /// Something is wrong just before the rest.
    pub(crate) fn wrong(&self, wrong: impl AsRef<str>) -> PackError {
        let at = self.bytes - self.rest.len();
        PackError::malformed(self.name, format!("{}, before its byte {at}", wrong.as_ref()))
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], PackError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            let left = self.rest.len();
            return Err(self.wrong(format!("{count} bytes are announced, and {left} are left")));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PackError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    /// Nothing may be left.
    pub(crate) fn end(self) -> Result<(), PackError> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(self.wrong(format!("{left} bytes are left over"))),
        }
    }
}

/// What stands in a pack. What is read is what was written, and nothing else is read as it.
pub(crate) trait Coded: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError>;
}

macro_rules! numbers {
    ($($number:ty),+) => {$(
        impl Coded for $number {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }

            fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
                Ok(Self::from_le_bytes(input.array()?))
            }
        }
    )+};
}
numbers!(u8, u16, u32, u64);

macro_rules! positive_numbers {
    ($($kind:ty),+) => {$(
        impl Coded for NonZero<$kind> {
            fn put(&self, out: &mut Vec<u8>) {
                self.get().put(out);
            }

            fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
                Self::new(<$kind>::take(input)?).ok_or_else(|| input.wrong("a number that must not be 0 is 0"))
            }
        }
    )+};
}
positive_numbers!(u32, u64);

impl Coded for bool {
    fn put(&self, out: &mut Vec<u8>) {
        u8::from(*self).put(out);
    }

    fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
        match u8::take(input)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(input.wrong(format!("{other} is neither yes (1) nor no (0)"))),
        }
    }
}

impl Coded for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        out.extend(self.as_bytes());
    }

    fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
        let length = u32::take(input)? as usize;
        let text = input.bytes(length)?.to_vec();
        Self::from_utf8(text).map_err(|_| input.wrong("a text is not UTF-8"))
    }
}

fn put_length(length: usize, out: &mut Vec<u8>) {
    // Checked before anything is written; no text that a caller has is longer.
    u32::try_from(length).unwrap_or(u32::MAX).put(out);
}

impl<T: Coded> Coded for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        self.iter().for_each(|one| one.put(out));
    }

    fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
        let length = u32::take(input)?;
        // No room for as many as are announced, but for as many as come: each takes a byte at least.
        (0..length).map(|_| T::take(input)).collect()
    }
}

impl<T: Coded> Coded for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(one) = self {
            one.put(out);
        }
    }

    fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
        if bool::take(input)? { Ok(Some(T::take(input)?)) } else { Ok(None) }
    }
}

impl<T: Coded> Coded for [T; 2] {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|one| one.put(out));
    }

    fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
        Ok([T::take(input)?, T::take(input)?])
    }
}

impl<T: Coded> Coded for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }

    fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
        T::take(input).map(Self::new)
    }
}

impl Coded for ModuleHash {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.0);
    }

    fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
        input.array().map(Self)
    }
}

macro_rules! bit_sets {
    ($($set:ident: $what:literal),+) => {$(
        impl Coded for $set {
            fn put(&self, out: &mut Vec<u8>) {
                self.bits().put(out);
            }

            fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
                let bits = u32::take(input)?;
                let wrong = || input.wrong(format!(concat!($what, " {:#x}, which this version does not know"), bits));
                Self::from_bits(bits).ok_or_else(wrong)
            }
        }
    )+};
}
bit_sets!(Promises: "promises", FeatureSet: "features");

/// The fields of a structure, in this order.
macro_rules! fields {
    ($($kind:ty { $($field:ident),+ })+) => {$(
        impl Coded for $kind {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)+
            }

            fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
                $(let $field = Coded::take(input)?;)+
                Ok(Self { $($field),+ })
            }
        }
    )+};
}
fields! {
    PackDevice { name, driver, driver_build, vendor_id, device_id, units, family, keeps }
    CallUse { n_on_device, total, init_in_memory, scratch_overwritten, arguments, any_element }
    ChoiceTable { call_use, needs, breakpoints }
    Breakpoint { from, ranked, worst_loss_ppm }
    PackRecipe { label, recipe }
    PackTime { recipe, n, picoseconds, confirmed }
    Recipe<u16> { formula, min_n, max_n, call_sizes, alignment, co_resident, arguments, fill, prepare, passes }
    Formula { tile_elements, element_bytes, split, tickets, states }
    FewSplit { most, row_elements, rows }
    StatesFormula { content, bytes, stride, begin, groups }
    FillRecipe<u16> { pass, words_per_workgroup }
    Prepare<u16> { zeros, turn }
    LevelPasses<u16> { up, last, down }
    RecipePass<u16> { module, places, words }
}

impl Coded for PackProblem {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { scan, splittable, measured, portable } = self;
        let ScanProblem { mode, element, element_bytes, operator, operator_hash, init, in_place, reverse } =
            scan;
        mode.put(out);
        element.put(out);
        element_bytes.put(out);
        operator.put(out);
        operator_hash.put(out);
        init.put(out);
        // Version 1 has the first bit alone, and version 3 the first two.
        (u8::from(*in_place) | u8::from(*reverse) << 1 | u8::from(*splittable) << 2).put(out);
        measured.put(out);
        portable.put(out);
    }

    fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
        let (mode, element, element_bytes) = (Coded::take(input)?, Coded::take(input)?, Coded::take(input)?);
        let (operator, operator_hash, init) = (Coded::take(input)?, Coded::take(input)?, Coded::take(input)?);
        let bits = u8::take(input)?;
        if bits > 7 {
            return Err(input.wrong(format!("{bits} says nothing of where the output stands")));
        }
        let [in_place, reverse, splittable] = [0, 1, 2].map(|bit| bits >> bit & 1 == 1);
        let scan =
            ScanProblem { mode, element, element_bytes, operator, operator_hash, init, in_place, reverse };
        Ok(Self { scan, splittable, measured: Coded::take(input)?, portable: Coded::take(input)? })
    }
}

/// The values of an enumeration, each with its byte and the one thing that it may have.
macro_rules! values {
    ($($kind:ty { $($number:literal = $name:ident $(($part:ident))? $({ $field:ident })?),+ })+) => {$(
        impl Coded for $kind {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$name $(($part))? $({ $field })? => {
                        out.push($number);
                        $($part.put(out);)?
                        $($field.put(out);)?
                    })+
                }
            }

            fn take(input: &mut SectionRest<'_>) -> Result<Self, PackError> {
                Ok(match u8::take(input)? {
                    $($number => {
                        $(let $part = Coded::take(input)?;)?
                        $(let $field = Coded::take(input)?;)?
                        Self::$name $(($part))? $({ $field })?
                    })+
                    other => {
                        let name = stringify!($kind);
                        return Err(input.wrong(format!("{other} stands for no value of {name}")));
                    }
                })
            }
        }
    )+};
}
values! {
    ScanMode { 0 = Inclusive, 1 = Exclusive, 2 = Reduce }
    Split { 0 = Tiles, 1 = AtMost(most), 2 = One, 3 = ByLevels, 4 = AtMostOrFew(few) }
    TicketRule { 0 = None, 1 = Workgroups, 2 = WorkgroupsAndFullTiles, 3 = FullTilesBehindFirst }
    StatesBegin { 0 = At(offset), 1 = BehindGroups }
    GroupState { 0 = Added, 1 = Published }
    ScratchContent {
        0 = None, 1 = Anything, 2 = Tagged { epoch_bits }, 3 = SelfTurning { epoch_bits }, 4 = Zeros, 5 = Overwritten
    }
    CallSizes { 0 = Same, 1 = Told, 2 = InMemory }
    ArgumentKind { 0 = Pushed, 1 = Line, 2 = Baked }
    RecipePasses<u16> { 0 = One(pass), 1 = ByLevels(passes) }
    Place<ScratchPart> {
        0 = Source, 1 = Target, 2 = Scratch(part), 3 = Counts, 4 = Total, 5 = Initial, 6 = Elements
    }
    ScratchPart { 0 = All, 1 = Groups, 2 = States, 3 = Level, 4 = LevelAbove, 5 = Turn }
    RecipeWord { 0 = Elements, 1 = MostElements, 2 = Same(word) }
    PushWord { 0 = Value(value), 1 = Epoch, 2 = TicketBase, 3 = Bank, 4 = StaleGroups }
}
