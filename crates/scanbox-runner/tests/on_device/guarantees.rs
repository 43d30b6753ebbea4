//! What probes of guarantees find on devices of which it is known: nothing hangs, and what is known is found.

use std::time::{Duration, Instant};

use scanbox_model::guarantee_probe::ProbeVerdict;
use scanbox_model::parameters::Parameter;
use scanbox_model::safe_devices::Guarantee;
use scanbox_runner::backend::Backend;
use scanbox_runner::guarantees::{Found, find};

use super::harness::{RANDOM, device};

#[test]
fn probes_find_what_is_known_of_software_devices() {
    use ProbeVerdict::{NotRefuted, Refuted};
    let Some(mut bench) = device() else { return };
    let driver = bench.device().profile().driver.clone();
    let one_thread = std::env::var("LP_NUM_THREADS").is_ok_and(|threads| threads == "1");
    for &guarantee in Guarantee::VALUES {
        let began = Instant::now();
        let Found { finding, residents, .. } = find(bench.device(), guarantee, &mut |_| {})
            .unwrap_or_else(|failure| panic!("{guarantee}: {failure}"));
        assert!(began.elapsed() < Duration::from_secs(30), "{guarantee}: {:?}", began.elapsed());
        let known = match (guarantee, driver.contains("llvmpipe"), driver.contains("SwiftShader")) {
            // Workgroups run one after the other, each to its end, subgroup by subgroup between barriers.
            (Guarantee::SubgroupProgress, true, _) => Some(Refuted),
            (_, true, _) if one_thread => Some(NotRefuted),
            // A thread works off a workgroup, subgroup by subgroup. Of workgroups every sixteenth is of a thread: on a
            // busy machine their order is refuted in some runs, and not in others.
            (Guarantee::SubgroupProgress, _, true) => Some(Refuted),
            _ => None,
        };
        assert!(known.is_none_or(|known| known == finding.verdict), "{driver}: {finding:?}");
        assert!(finding.calls > 0 && !finding.detail.is_empty(), "{finding:?}");
        if driver.contains("llvmpipe") && one_thread && guarantee == Guarantee::CoResidency {
            assert!(residents.iter().all(|shape| shape.workgroups == 1), "{residents:?}");
        }
        assert_eq!(
            residents.is_empty(),
            guarantee != Guarantee::CoResidency || finding.verdict != NotRefuted,
            "{residents:?}"
        );
    }
    // The device works as before.
    bench.check("b4.vec4.par.sub.wg64", 10_000, &RANDOM);
}
