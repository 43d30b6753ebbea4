//! What kernels need of a device beyond what Vulkan promises, and features that a program has to enable.

use std::fmt;

/// A set of named bits: the words, and what no word stands for is in no set.
macro_rules! bit_set {
    ($(#[$of_set:meta])* $set:ident, $what:literal, {
        $($(#[$of_bit:meta])* $bit:ident = $number:literal, $word:literal;)+
    }) => {
        $(#[$of_set])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[cfg_attr(
            feature = "json",
            derive(serde::Serialize, serde::Deserialize),
            serde(try_from = "Vec<String>", into = "Vec<String>")
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $set(u32);

        impl $set {
            /// None.
            pub const NONE: Self = Self(0);
            /// All there are.
            pub const ALL: Self = Self($(1 << $number)|+);
            $($(#[$of_bit])* pub const $bit: Self = Self(1 << $number);)+

            const WORDS: &[(Self, &str)] = &[$((Self::$bit, $word)),+];

            /// The set with these bits, if this version knows them all.
            #[must_use]
            pub fn from_bits(bits: u32) -> Option<Self> {
                (bits & !Self::ALL.0 == 0).then_some(Self(bits))
            }

            /// As bits.
            #[must_use]
            pub fn bits(self) -> u32 {
                self.0
            }

            /// Those of both.
            #[must_use]
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Those that the other one does not have.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// Whether it has all of the other one.
            #[must_use]
            pub const fn has(self, other: Self) -> bool {
                other.0 & !self.0 == 0
            }

            /// The words for what is in it.
            pub fn words(self) -> impl Iterator<Item = &'static str> {
                Self::WORDS.iter().filter(move |(bit, _)| self.has(*bit)).map(|(_, word)| *word)
            }
        }

        impl fmt::Display for $set {
            /// The words, with commas; `nothing` where there are none.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if *self == Self::NONE {
                    return f.write_str("nothing");
                }
                self.words().enumerate().try_for_each(|(place, word)| {
                    write!(f, "{}{word}", if place == 0 { "" } else { ", " })
                })
            }
        }

        impl From<$set> for Vec<String> {
            fn from(set: $set) -> Self {
                set.words().map(str::to_owned).collect()
            }
        }

        impl TryFrom<Vec<String>> for $set {
            type Error = String;

            fn try_from(words: Vec<String>) -> Result<Self, String> {
                words.iter().try_fold(Self::NONE, |set, word| {
                    let known = Self::WORDS.iter().find(|(_, known)| known == word);
                    let (bit, _) = known.ok_or_else(|| format!("{word:?} is not a {} that this version knows", $what))?;
                    Ok(set.with(*bit))
                })
            }
        }
    };
}

bit_set! {
    /// What no specification promises, and kernels may need.
    Promises, "promise", {
        /// Workgroups that have started make progress, whatever others wait for.
        PROGRESS = 0, "progress";
        /// Workgroups start in the order of their numbers.
        WORKGROUP_ORDER = 1, "workgroup-order";
        /// Subgroups of one workgroup make progress independently.
        SUBGROUP_PROGRESS = 2, "subgroup-progress";
        /// As many workgroups as fit the device at the same time really run at the same time.
        CO_RESIDENCY = 3, "co-residency";
    }
}

bit_set! {
    /// What not every device with Vulkan 1.3 has, by its Vulkan name: features that a program has to enable, and
    /// operations of subgroups. All kernels need `bufferDeviceAddress`, `vulkanMemoryModel`,
    /// `vulkanMemoryModelDeviceScope`, `subgroupSizeControl`, `computeFullSubgroups` and `maintenance4` beside.
    FeatureSet, "feature", {
        /// 64-bit integers.
        INT64 = 0, "shaderInt64";
        /// 64-bit atomics on buffers.
        INT64_ATOMICS = 1, "shaderBufferInt64Atomics";
        /// 64-bit floats.
        FLOAT64 = 2, "shaderFloat64";
        /// Subgroup operations on 64-bit integers.
        EXTENDED_TYPES = 3, "shaderSubgroupExtendedTypes";
        /// Subgroups come together again behind branches that they enter together.
        UNIFORM_CONTROL_FLOW = 4, "shaderSubgroupUniformControlFlow";
        /// Votes of subgroups.
        VOTE = 5, "subgroup vote";
        /// Sums and scans of subgroups.
        ARITHMETIC = 6, "subgroup arithmetic";
        /// Ballots of subgroups.
        BALLOT = 7, "subgroup ballot";
        /// Values of any other invocation.
        SHUFFLE = 8, "subgroup shuffle";
        /// Values of invocations so many places away.
        SHUFFLE_RELATIVE = 9, "subgroup shuffle relative";
        /// Sums and scans of parts of subgroups.
        CLUSTERED = 10, "subgroup clustered";
        /// Values of the other three of a quad.
        QUAD = 11, "subgroup quad";
    }
}
