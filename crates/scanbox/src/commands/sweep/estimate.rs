//! About how long a sweep takes, from what rows took before; and on what that is based.

use std::fs;
use std::path::{Path, PathBuf};

use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::metadata::Metadata;
use scanbox_model::units::plural;
use scanbox_model::whole_file;

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

/// The bytes of input whose scan and check take as long as everything else of a row: on a GPU launches and samples,
/// on a CPU almost nothing.
fn free_bytes(kind: DeviceKind) -> f64 {
    match kind {
        DeviceKind::Hardware => 8e7,
        DeviceKind::Software | DeviceKind::Null => 4e3,
    }
}

/// What rows of these sizes cost on average, in bytes.
fn mean_bytes(sizes: impl Iterator<Item = u64>, element_bytes: u32, kind: DeviceKind) -> f64 {
    let (sum, count) =
        sizes.fold((0.0, 0_u32), |(sum, count), n| (sum + n as f64 * f64::from(element_bytes), count + 1));
    free_bytes(kind) + sum / f64::from(count.max(1))
}

/// What rows took.
struct Rate {
    rows: u64,
    seconds: f64,
    /// What a row of them costs, as [`mean_bytes`] has it: of the sizes of the space.
    bytes: f64,
}

impl Rate {
    /// Of the runs that are told of here.
    fn of(metadata: &Metadata) -> Option<Self> {
        let runs = metadata.runs.iter().filter_map(|run| Some((run.rows, *run.seconds.get("total")?)));
        let (rows, seconds) = runs
            .filter(|(rows, seconds)| *rows > 0 && *seconds > 0.0)
            .fold((0, 0.0), |(rows, seconds), (more, longer)| (rows + more, seconds + longer));
        let element_bytes = metadata.problem.element().bytes();
        let bytes = mean_bytes(metadata.space.sizes.iter(), element_bytes, metadata.device.kind);
        (rows > 0).then_some(Self { rows, seconds, bytes })
    }

    fn per_row_s(&self) -> f64 {
        self.seconds / self.rows as f64
    }
}

/// How long points of these sizes, in elements of so many bytes, take that are measured into `path` on this device.
pub fn estimate(
    sizes: &[u64],
    element_bytes: u32,
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
    let bytes = mean_bytes(sizes.iter().copied(), element_bytes, device.kind);
    let other = match bytes / rate.bytes {
        times if (0.5..2.0).contains(&times) => "",
        times if times > 1.0 => ", and these are larger",
        _ => ", and these are smaller",
    };
    let basis = format!("{whose} {:.0} ms each{other}", 1e3 * each);
    Some(TimeEstimate { seconds: each * bytes / rate.bytes * sizes.len() as f64, basis })
}

/// What the rows of the device took in the largest other sweep of the folder.
fn beside(path: &Path, device: &DeviceProfile) -> Option<(Rate, String)> {
    let folder = whole_file::folder_of(path);
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
        let published = |file: &str| {
            let path = format!("{}/../../results/published.{file}.meta.json", env!("CARGO_MANIFEST_DIR"));
            Metadata::read(Path::new(&path)).expect("it is published")
        };
        // Points, their largest size, and the seconds that are about right, from the rows of the published sweeps.
        let check = |file: &str, points: usize, largest: u32, from: f64, to: f64| {
            let known = published(file);
            let sizes: Vec<u64> = (10..=largest).map(|power| 1 << power).cycle().take(points).collect();
            let found = estimate(&sizes, 4, Path::new("x.csv"), Some(&known), &known.device).expect("rows");
            assert!((from..to).contains(&found.seconds), "{file} {points} {largest}: {found:?}");
        };
        check("nvidia-h200.thesis", 3600, 29, 130.0, 170.0);
        check("nvidia-h100.thesis", 3600, 29, 140.0, 180.0);
        check("llvmpipe.quick", 176, 18, 20.0, 40.0);
        // A call at 2^27 moves 1 GB, and lavapipe less than that in a second.
        check("llvmpipe.quick", 4460, 27, 3600.0, 1e6);
        let check = |seconds, expected: &str| assert_eq!(duration(seconds), expected);
        check(0.2, "less than 1 s");
        check(89.0, "89 s");
        check(129.0, "2 min");
        check(9000.0, "2.5 h");
    }
}
