//! `scanbox explain --schema`: the JSON schema of a file or an answer.

use scanbox_report::schemas::{NamedSchema, finished, schemas, written};
use scanbox_session::event::ProgressEvent;
use serde_json::json;

use crate::commands::sweep::SweepsJson;

/// All of them.
pub fn all() -> Vec<NamedSchema> {
    let mut all = schemas();
    all.push(finished(
        "sweep-devices",
        "`sweep --format json`, of several devices; each `sweep` is as of one device.",
        written::<SweepsJson>(),
    ));
    let mut event = written::<ProgressEvent>();
    // A sweep of several devices says of which one a line is.
    for kind in event["oneOf"].as_array_mut().into_iter().flatten() {
        kind["properties"]["device"] =
            json!({ "type": "string", "description": "Of several, which one says it." });
    }
    all.push(finished("progress", "A line on stderr with `--progress json`.", event));
    all
}

/// The one of this name.
pub fn named(name: &str) -> Option<NamedSchema> {
    all().into_iter().find(|schema| schema.name == name)
}
