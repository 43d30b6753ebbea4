//! What the units behind a table are.

use scanbox_analysis::answers::DeviceAnswer;

use super::percent;
use crate::words::title;

/// Units of a pool, or files, that are named one by one; JSON has all.
const UNITS_SHOWN: usize = 8;

/// The first of these, at most so many, and how many more there are.
pub(super) fn shortened<W: Into<String>>(words: impl ExactSizeIterator<Item = W>, most: usize) -> String {
    let more = words.len().saturating_sub(most);
    let mut shown: Vec<String> = words.take(most).map(Into::into).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}

/// What a device is called, and what tells the unit apart: host, PCI address, UUID, files; of several units taken
/// together, which those are.
pub(super) fn unit_words(device: &DeviceAnswer<'_>) -> String {
    if let Some(pool) = &device.table.pool {
        let spread = match pool.spread {
            Some(spread) => format!("; they lie {} % apart (half of them)", percent(100.0 * spread)),
            None => String::new(),
        };
        return format!(
            "{}: a point's time is the median over the units that have it{spread}; {}; from {}",
            title(device),
            shortened(pool.units.iter().map(|(_, title)| title.as_str()), UNITS_SHOWN),
            shortened(device.table.files.iter().map(String::as_str), UNITS_SHOWN),
        );
    }
    let unit = &device.table.device;
    let known = [("host", &unit.host), ("PCI", &unit.pci_address), ("UUID", &unit.uuid)];
    let api = match unit.api.ways().len() {
        0 => String::new(),
        _ => unit.api.words(),
    };
    let known = [("driven through", &api)].into_iter().chain(known);
    let known = known.into_iter().filter(|(_, text)| !text.is_empty());
    let mut words: Vec<String> = known.map(|(what, text)| format!("{what} {text}")).collect();
    words.push(format!("from {}", device.table.files.join(", ")));
    format!("{}: {}", title(device), words.join(", "))
}
