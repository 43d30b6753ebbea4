//! Structs whose fields say what they are at run time too: columns of files are explained by the same words.

/// A struct, and a list of its fields with their comments.
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
}
