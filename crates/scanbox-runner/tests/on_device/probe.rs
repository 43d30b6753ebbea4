//! The probe where it is really measured: it comes to its end soon, and leaves a device that works.

use std::time::{Duration, Instant};

use scanbox_kernels::catalog;
use scanbox_model::config::Arguments;
use scanbox_model::record::Cache;
use scanbox_runner::backend::Backend;
use scanbox_runner::probe;

use super::harness::{RANDOM, device};

#[test]
fn what_does_nothing_is_timed_in_as_many_workgroups_as_a_copy() {
    let Some(mut bench) = device() else { return };
    let copy = bench.copy(100_000);
    let empty = catalog::empty_beside(&copy, bench.device().profile());
    assert_eq!(empty.passes[0].workgroups, copy.passes[0].workgroups);
    bench.prepare(&empty);
    let device = bench.device();
    device.load(&copy.problem, &RANDOM, copy.n).unwrap_or_else(|failure| panic!("{failure}"));
    let samples = device.time(&empty, Cache::Hot, 10, 3).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(samples.len(), 3);
}

#[test]
fn a_probe_is_short_and_leaves_nothing_behind() {
    let Some(mut bench) = device() else { return };
    let (device, compiler) = bench.parts();
    let started = Instant::now();
    let probe = match probe::arguments(device, compiler) {
        Ok(probe) => probe,
        // A machine that has much else to do.
        Err(failure) if failure.reason.contains("it takes more than") => return,
        Err(failure) => panic!("{failure}"),
    };
    // On a program that runs shaders, with the validation layer; a GPU takes a tenth of that.
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert_ne!(probe.arguments, Arguments::Baked);
    assert_eq!(probe.sizes.len(), 3);
    for size in &probe.sizes {
        assert!(size.push_ns > 0.0 && size.block_ns > 0.0, "{size:?}");
    }
    for label in ["b4.vec4.par.sub.wg64", "b4.vec4.par.sub.block.wg64"] {
        bench.check(label, 10_000, &RANDOM);
    }
}
