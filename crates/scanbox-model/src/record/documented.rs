//! Structs and enums that say what they are at run time too: columns of files, and words in them, are explained by the
//! comments that readers of the code have.

/// A struct, and a list of its fields with their comments; or an enum of words.
macro_rules! documented {
    (
        $(#[$attribute:meta])*
        pub struct $type:ident { $($(#[doc = $meaning:literal])+ pub $field:ident: $of:ty,)+ }
    ) => {
        $(#[$attribute])*
        pub struct $type { $($(#[doc = $meaning])+ pub $field: $of,)+ }

        impl $type {
            /// Each field, what it says, and its type.
            const FIELDS: &'static [(&'static str, &'static str, &'static str)] =
                &[$((stringify!($field), concat!($($meaning),+), stringify!($of)),)+];
        }
    };
    (
        $(#[$attribute:meta])*
        pub enum $type:ident {
            $($(#[doc = $meaning:literal])+ $name:ident = $word:literal $(#[$own:meta])?,)+
        }
    ) => {
        $(#[$attribute])*
        pub enum $type { $($(#[doc = $meaning])+ $(#[$own])? #[serde(rename = $word)] $name,)+ }

        impl $type {
            /// All of them, in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$name),+];

            /// The word in CSV.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)+
                }
            }

            /// What it says, in words.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($meaning),+).trim_ascii(),)+
                }
            }
        }
    };
}
