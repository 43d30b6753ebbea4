//! What it costs to make scans: times for people. Run it on a device that counts, on a pack of it (`SCANBOX_PACK`):
//! `SCANBOX_TEST_DEVICE=1 cargo test -p scanbox-vk --release on_device::costs -- --ignored --nocapture`.

use std::sync::Arc;
use std::time::Instant;

use ash::vk;
use scanbox_pack::{ArgumentKind, CallUse, Pack, ScanMode, ScanProblem};
use scanbox_vk::{CallLength, LineBuffer, ScanCall};

use super::gpu::TestGpu;

/// The most elements that scans are made for, and those of a call that is bound.
const MOST: u64 = 1 << 30;
const N: u64 = 1 << 20;

/// How long something takes, in milliseconds.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let done = work();
    (began.elapsed().as_secs_f64() * 1e3, done)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[test]
#[ignore = "times of one device, for people"]
#[allow(clippy::print_stderr, reason = "the times are what somebody wants to know")]
fn making_scans_takes_so_long() {
    let Some(gpu) = TestGpu::new() else { return };
    let path = std::env::var("SCANBOX_PACK").unwrap_or("../../packs/portable.scanpack".to_owned());
    let bytes = std::fs::read(&path).unwrap();
    let (read_ms, pack) = timed(|| Arc::new(Pack::read(&bytes).unwrap()));
    eprintln!("{path}: {} KiB, read and checked in {read_ms:.2} ms", bytes.len() >> 10);
    let sum = ScanProblem::built_in(ScanMode::Inclusive, "u32", "add").unwrap();
    // SAFETY: the device is there until the cache is destroyed.
    let cache = || unsafe { gpu.device.create_pipeline_cache(&vk::PipelineCacheCreateInfo::default(), None) };
    for arguments in [ArgumentKind::Pushed, ArgumentKind::Line, ArgumentKind::Baked] {
        let call_use = CallUse { arguments, ..CallUse::default() };
        let cache = cache().unwrap();
        let mut making = Vec::new();
        for turn in 0..8 {
            let (scanner_ms, scanner) = timed(|| gpu.scanner_by(&gpu.device, cache, Arc::clone(&pack)));
            let (scan_ms, scan) = timed(|| scanner.scan(&sum, MOST, call_use));
            let scan = match scan {
                Ok(scan) => scan,
                Err(error) => {
                    eprintln!("{arguments:?}: {error}");
                    break;
                }
            };
            making.push(scanner_ms + scan_ms);
            if turn == 0 {
                let label = scan.chosen(N).label;
                eprintln!("{arguments:?}: scanner {scanner_ms:.2} ms, scan {scan_ms:.2} ms, at 2^20 {label}");
                continue;
            }
            if turn == 7 && arguments != ArgumentKind::Pushed {
                bind(&gpu, &scan, arguments);
            }
        }
        if making.len() > 1 {
            let warm = median(making[1..].to_vec());
            eprintln!("{arguments:?}: scanner and scan with a warm cache {warm:.2} ms (goal, pushed: 10)");
            assert!(warm < 1000.0, "a cache of pipelines is of no use");
        }
        gpu.forget();
        // SAFETY: the scans that had it are gone.
        unsafe { gpu.device.destroy_pipeline_cache(cache, None) };
    }
}

#[allow(clippy::print_stderr, reason = "the times are what somebody wants to know")]
fn bind(gpu: &TestGpu, scan: &scanbox_vk::Scan, arguments: ArgumentKind) {
    let needs = scan.line_needs();
    let lines = (needs.bytes > 0).then(|| {
        let range = gpu.take(needs.bytes, 0);
        LineBuffer { buffer: gpu.buffer, offset: gpu.offset(range.address), range }
    });
    let call = ScanCall {
        input: gpu.take(4 * N, 0),
        output: gpu.take(4 * N, 0),
        scratch: gpu.take(scan.scratch().bytes.max(4), 0),
        n: CallLength::Host(N),
        init: None,
        total: None,
    };
    let mut times = Vec::new();
    let mut bound = None;
    for turn in 0..10 {
        // Constants have the number of elements in them: none of these was made before.
        let call = ScanCall { n: CallLength::Host(N - 4 * turn), ..call };
        // SAFETY: the memory is live, and nothing is recorded that outlives it.
        let (ms, made) = timed(|| unsafe { scan.bind(lines, &call) }.unwrap());
        times.push(ms);
        bound = Some((made, call));
    }
    eprintln!("{arguments:?}: bind {:.2} ms (median of {})", median(times.clone()), times.len());
    let Some((bound, call)) = bound.filter(|_| lines.is_some()) else { return };
    let mut each = 0.0;
    gpu.once(|commands| {
        const SETS: u32 = 200;
        // SAFETY: the memory is live until it has run.
        let (ms, ()) = timed(|| (0..SETS).for_each(|_| unsafe { bound.cmd_set(commands, &call) }.unwrap()));
        each = ms * 1e6 / f64::from(SETS);
    });
    eprintln!("{arguments:?}: recording cmd_set {each:.0} ns, its driver's part included");
}
