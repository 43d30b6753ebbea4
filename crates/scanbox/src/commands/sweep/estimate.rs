//! About how long a sweep takes, from what rows took before; and on what that is based.

use std::fs;
use std::path::{Path, PathBuf};

use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::metadata::Metadata;
use scanbox_model::units::plural;

/// The published sweeps of a GPU and of a device on the CPU: what is known where nothing else is.
const PUBLISHED: [(&str, &str); 2] = [
    ("hardware", include_str!("../../../../../results/published.nvidia-h200.thesis.meta.json")),
    ("software", include_str!("../../../../../results/published.llvmpipe.quick.meta.json")),
];

/// An estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeEstimate {
    /// Seconds.
    pub seconds: f64,
    /// What it is based on.
    pub basis: String,
}

/// What rows took.
struct Rate {
    rows: u64,
    seconds: f64,
}

impl Rate {
    /// Of the runs that are told of here.
    fn of(metadata: &Metadata) -> Option<Self> {
        let runs = metadata.runs.iter().filter_map(|run| Some((run.rows, *run.seconds.get("total")?)));
        let (rows, seconds) = runs
            .filter(|(rows, seconds)| *rows > 0 && *seconds > 0.0)
            .fold((0, 0.0), |(rows, seconds), (more, longer)| (rows + more, seconds + longer));
        (rows > 0).then_some(Self { rows, seconds })
    }

    fn per_row_s(&self) -> f64 {
        self.seconds / self.rows as f64
    }
}

/// How long `points` configs take that are measured into `path` on this device.
pub fn estimate(
    points: usize,
    path: &Path,
    of_file: Option<&Metadata>,
    device: &DeviceProfile,
) -> Option<TimeEstimate> {
    let (rate, whose) = match of_file.and_then(Rate::of) {
        Some(rate) => {
            let whose = format!("the {} of this file took", plural(rate.rows as usize, "row"));
            (rate, whose)
        }
        None => beside(path, device).or_else(|| published(device.kind))?,
    };
    let each = rate.per_row_s();
    let basis = format!("{whose} {:.0} ms each", 1e3 * each);
    Some(TimeEstimate { seconds: each * points as f64, basis })
}

/// What the rows of the device took in the largest other sweep of the folder.
fn beside(path: &Path, device: &DeviceProfile) -> Option<(Rate, String)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let of_device = |file: PathBuf| {
        file.to_str()?.ends_with(".meta.json").then_some(())?;
        let metadata = Metadata::read(&file).ok()?;
        let key = |device: &DeviceProfile| (device.name.clone(), device.device_api());
        let same = key(&metadata.device) == key(device) && !metadata.is_of_benchmark();
        Some((Rate::of(&metadata).filter(|_| same)?, file))
    };
    let (rate, file) = files.filter_map(of_device).max_by_key(|(rate, file)| (rate.rows, file.clone()))?;
    let whose = format!("on this device, {} of {} took", plural(rate.rows as usize, "row"), file.display());
    Some((rate, whose))
}

/// What rows took that were published: of another device, as a rough figure.
fn published(kind: DeviceKind) -> Option<(Rate, String)> {
    let word = if kind == DeviceKind::Hardware { PUBLISHED[0].0 } else { PUBLISHED[1].0 };
    let (_, text) = PUBLISHED.iter().find(|(of, _)| *of == word)?;
    let metadata = Metadata::from_bytes(text.as_bytes(), Path::new("the published metadata")).ok()?;
    let whose = format!(
        "roughly, there are no rows of this device yet: in the published sweep {} of {} took",
        metadata.space.name, metadata.device.name
    );
    Some((Rate::of(&metadata)?, whose))
}

/// Seconds as people say them.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "less than 1 s".to_owned(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_has_a_rate() {
        for kind in [DeviceKind::Hardware, DeviceKind::Software] {
            let (rate, whose) = published(kind).expect("published metadata has runs");
            assert!((0.001..10.0).contains(&rate.per_row_s()) && whose.contains("published"), "{whose}");
        }
        let check = |seconds, expected: &str| assert_eq!(duration(seconds), expected);
        check(0.2, "less than 1 s");
        check(89.0, "89 s");
        check(129.0, "2 min");
        check(9000.0, "2.5 h");
    }
}
