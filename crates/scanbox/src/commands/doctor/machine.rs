//! The machine around the devices: device files and who may open them, clocks, memory. All of it is read, nothing is
//! opened for writing, nothing is set.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::bytes_label;
use super::devices::Devices;
use super::drivers::{chosen_by_variable, why_hidden};
use super::host::{available_memory_bytes, output_of};
use scanbox_report::doctor::Finding;
use scanbox_session::system::may_read_and_write;

/// PCI vendor ids.
const NVIDIA: u32 = 0x10DE;
const AMD: u32 = 0x1002;

/// How long another program may take to answer.
const PROGRAM_LIMIT: Duration = Duration::from_secs(10);

/// What a worker needs of the host besides the device's own memory: staging, compiler, driver.
const HOST_BYTES: u64 = 1 << 30;

pub(super) fn check(devices: &Devices) -> Vec<Finding> {
    let mut findings = Vec::new();
    if cfg!(target_os = "linux") {
        let files = device_files();
        findings.extend(permissions(&files));
        findings.extend(hidden(&files, devices));
    }
    findings.extend(clocks(devices));
    findings.extend(host_memory());
    findings
}

/// The files through which drivers reach GPUs.
fn device_files() -> Vec<PathBuf> {
    let below = |folder: &str, prefix: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let named =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
        entries.map(|entry| entry.path()).filter(named).filter(|path| !path.is_dir()).collect()
    };
    let mut files = below("/dev/dri", "renderD");
    files.extend(below("/dev", "nvidia"));
    files.sort();
    files
}

fn is_nvidia_gpu(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix("nvidia")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

fn permissions(files: &[PathBuf]) -> Vec<Finding> {
    let list = |files: &[&PathBuf]| {
        files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    let may_open = |path: &&PathBuf| may_read_and_write(path);
    let (open, closed): (Vec<&PathBuf>, Vec<&PathBuf>) = files.iter().partition(may_open);
    let mut findings = Vec::new();
    if !open.is_empty() {
        findings.push(Finding::ok("permissions", list(&open)));
    }
    if !closed.is_empty() {
        findings.push(Finding::warning(
            "permissions",
            format!("no access to {}", list(&closed)),
            "sudo usermod -aG render,video \"$USER\", then log in again; in a container, pass the device in",
        ));
    }
    findings
}

/// GPUs that are there but do not come through the Vulkan loader.
fn hidden(files: &[PathBuf], devices: &Devices) -> Option<Finding> {
    if !devices.are_all() {
        return None;
    }
    let (file, vendor) = match files.iter().find(|path| is_nvidia_gpu(path)) {
        Some(file) if !devices.has_hardware_of(Some(NVIDIA)) => (file, "NVIDIA GPU"),
        None if !devices.has_hardware_of(None) => (files.first()?, "GPU"),
        _ => return None,
    };
    let found = format!("{} is there, but Vulkan shows no {vendor}", file.display());
    let parts = match vendor {
        "NVIDIA GPU" if chosen_by_variable().is_none() => NVIDIA_PARTS,
        _ => "",
    };
    Some(Finding::warning("hidden GPU", found, format!("{}{parts}", why_hidden())))
}

/// What is missing where CUDA works and Vulkan does not.
const NVIDIA_PARTS: &str = "; it needs the driver's graphics part (libnvidia-gl; in a container \
                            NVIDIA_DRIVER_CAPABILITIES=all), libgl1 and libegl1";

/// The clocks of GPUs, where they can be read without privileges.
fn clocks(devices: &Devices) -> Vec<Finding> {
    let mut findings = Vec::new();
    if devices.has_hardware_of(Some(NVIDIA)) {
        findings.extend(match query_nvidia() {
            Ok(text) => text.lines().filter(|line| !line.trim().is_empty()).map(nvidia_clocks).collect(),
            Err(reason) => vec![Finding::ok("clocks", format!("not readable: nvidia-smi: {reason}"))],
        });
    }
    if devices.has_hardware_of(Some(AMD)) {
        let read: Vec<Finding> = amd_clocks(Path::new("/sys/class/drm"));
        let unreadable = || Finding::ok("clocks", "not readable: no pp_dpm_sclk in /sys/class/drm");
        findings.extend(if read.is_empty() { vec![unreadable()] } else { read });
    }
    if findings.is_empty() && devices.has_hardware_of(None) {
        findings.push(Finding::ok("clocks", "not readable for this vendor"));
    }
    findings
}

fn query_nvidia() -> Result<String, String> {
    // Newer drivers know the reasons by another name, and will forget this one some day.
    let query = |reasons: &str| {
        let fields = format!("index,clocks.sm,clocks.mem,{reasons},persistence_mode,temperature.gpu");
        output_of(
            "nvidia-smi",
            &[&format!("--query-gpu={fields}"), "--format=csv,noheader,nounits"],
            PROGRAM_LIMIT,
        )
    };
    query("clocks_throttle_reasons.active").or_else(|_| query("clocks_event_reasons.active"))
}

/// Why an NVIDIA GPU runs slower than it could: bits of nvmlClocksEventReasons (nvml.h). Idling, application clocks and
/// synchronised clocks are wishes, not troubles.
const SLOWED_BY: [(u64, &str); 5] = [
    (0x04, "power cap"),
    (0x08, "hardware slowdown"),
    (0x20, "heat (driver)"),
    (0x40, "heat (hardware)"),
    (0x80, "power brake"),
];

/// One line of nvidia-smi.
fn nvidia_clocks(line: &str) -> Finding {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [index, sm, memory, reasons, persistence, temperature] = fields[..] else {
        return Finding::ok("clocks", format!("not readable: nvidia-smi says `{line}`"));
    };
    let check = format!("clocks, NVIDIA {index}");
    let found = format!(
        "SM {sm} MHz, memory {memory} MHz, {temperature} C, persistence {}",
        persistence.to_lowercase()
    );
    let bits = u64::from_str_radix(reasons.trim_start_matches("0x"), 16).unwrap_or(0);
    let slowed: Vec<&str> =
        SLOWED_BY.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect();
    if !slowed.is_empty() {
        let found = format!("{found}; slowed down by {}", slowed.join(", "));
        return Finding::warning(check, found, "check cooling and power; times drift until then");
    }
    if persistence == "Disabled" {
        return Finding::warning(
            check,
            found,
            "sudo nvidia-smi -pm 1 keeps the driver loaded between workers",
        );
    }
    Finding::ok(check, found)
}

/// The current clock of each AMD card, which the driver marks with a star.
fn amd_clocks(folder: &Path) -> Vec<Finding> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut cards: Vec<PathBuf> = entries.map(|entry| entry.path().join("device")).collect();
    cards.sort();
    let read = |path: PathBuf| fs::read_to_string(path).ok();
    let one = |card: &PathBuf| {
        let clocks = read(card.join("pp_dpm_sclk"))?;
        let current = clocks.lines().find(|line| line.trim_end().ends_with('*'))?;
        let clock = current.split_once(':').map_or(current, |(_, clock)| clock).trim_end_matches('*').trim();
        let level = read(card.join("power_dpm_force_performance_level")).unwrap_or_default();
        let name = card.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let level =
            if level.is_empty() { String::new() } else { format!(", performance level {}", level.trim()) };
        Some(Finding::ok(format!("clocks, {name}"), format!("{clock}{level}")))
    };
    cards.iter().filter_map(one).collect()
}

fn host_memory() -> Option<Finding> {
    let available = available_memory_bytes()?;
    let found = format!("{} available", bytes_label(available));
    Some(match available >= HOST_BYTES {
        true => Finding::ok("host memory", found),
        false => Finding::warning(
            "host memory",
            format!("{found}, and a worker takes up to {}", bytes_label(HOST_BYTES)),
            "end other programs",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::host::meminfo_bytes;
    use super::*;
    use scanbox_report::doctor::CheckResult;

    #[test]
    fn nvidia_clocks_are_read_and_judged() {
        let check = |line: &str, verdict: CheckResult, part: &str| {
            let finding = nvidia_clocks(line);
            assert_eq!(finding.verdict, verdict, "{line}");
            assert!(finding.found.contains(part), "no `{part}` in {}", finding.found);
        };
        let idle = "0, 345, 2619, 0x0000000000000001, Enabled, 31";
        check(idle, CheckResult::Ok, "SM 345 MHz, memory 2619 MHz, 31 C, persistence enabled");
        check("1, 345, 2619, 0x0000000000000001, Disabled, 31", CheckResult::Warning, "persistence disabled");
        check(
            "0, 900, 2619, 0x0000000000000024, Enabled, 90",
            CheckResult::Warning,
            "power cap, heat (driver)",
        );
        check("0, [N/A], [N/A], [N/A], [N/A], [N/A]", CheckResult::Ok, "SM [N/A] MHz");
        check("No devices were found", CheckResult::Ok, "not readable");
    }

    #[test]
    fn amd_clocks_are_what_the_driver_marks() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let card = folder.path().join("card1/device");
        fs::create_dir_all(&card).expect("a folder");
        fs::create_dir_all(folder.path().join("card0/device")).expect("a folder");
        fs::write(card.join("pp_dpm_sclk"), "0: 500Mhz \n1: 2104Mhz *\n").expect("a file");
        fs::write(card.join("power_dpm_force_performance_level"), "auto\n").expect("a file");
        let expected = Finding::ok("clocks, card1", "2104Mhz, performance level auto");
        assert_eq!(amd_clocks(folder.path()), [expected]);
    }

    #[test]
    fn memory_is_read_in_bytes() {
        let text = "MemTotal:       131946944 kB\nMemAvailable:   2048 kB\n";
        assert_eq!(meminfo_bytes(text, "MemAvailable"), Some(2 << 20));
        assert_eq!(meminfo_bytes(text, "MemAvail"), None);
        assert_eq!(meminfo_bytes("MemAvailable: lots", "MemAvailable"), None);
    }

    #[test]
    fn a_program_that_does_not_answer_is_ended() {
        let limit = Duration::from_millis(100);
        assert_eq!(output_of("echo", &["yes"], Duration::from_secs(10)), Ok("yes\n".to_owned()));
        assert_eq!(output_of("sleep", &["60"], limit), Err("no answer within 0.1 s".to_owned()));
        assert_eq!(output_of("no-such-program", &[], limit), Err("not installed".to_owned()));
        assert!(output_of("false", &[], Duration::from_secs(10)).is_err());
    }
}
