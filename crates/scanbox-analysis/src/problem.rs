//! What was scanned: rows of different modes, element types or operators are about different problems, and no answer
//! mixes them.

pub use scanbox_model::problem::Problem;
