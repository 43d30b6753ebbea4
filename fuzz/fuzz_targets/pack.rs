//! Packs: any bytes give a pack or an error, and whatever is done with a pack stays within it.
//!
//! The bytes get a length and a checksum that fit, as they would from whoever wants them read; as they come, nearly all
//! would end there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scanbox_pack::file::seal;
use scanbox_pack::{FeatureSet, Pack, Place, Promises, SeenDevice, Wish};

fuzz_target!(|bytes: &[u8]| {
    let _ = Pack::read(bytes);
    let mut file = bytes.to_vec();
    seal(&mut file);
    let pack = match Pack::read(&file) {
        Ok(pack) => pack,
        Err(error) => {
            let _ = error.to_string();
            return;
        }
    };
    assert_eq!(Pack::read(&pack.write()).as_ref(), Ok(&pack), "what is written is read");
    let data = pack.data();
    for recipe in data.recipes.iter().map(|recipe| &recipe.recipe) {
        let (min, max) = (recipe.min_n, recipe.max_n);
        for largest in [min, min + 1, max - 1, max, max + 1] {
            let Some(laid_out) = recipe.laid_out(largest) else { continue };
            for n in [0, 1, min, largest / 2, largest, u64::MAX] {
                let Some(launch) = laid_out.at(n) else { continue };
                assert!(launch.scratch().bytes <= laid_out.scratch_bytes());
                for step in launch.fill().into_iter().chain(launch.steps()).chain(laid_out.prepare()) {
                    assert!(usize::from(*step.module()) < data.modules.len() && step.words().count() <= 32);
                    for place in step.places() {
                        let Place::Scratch(offset) = place else { continue };
                        assert!(offset <= laid_out.scratch_bytes());
                    }
                }
            }
        }
    }
    let device = SeenDevice {
        vendor_id: data.device.vendor_id,
        device_id: data.device.device_id,
        driver: &data.device.driver,
        driver_build: "",
        subgroup_size: 32,
        min_subgroup_size: 4,
        max_subgroup_size: 128,
        max_workgroup_size: 1024,
        max_workgroup_subgroups: 32,
        max_shared_bytes: 1 << 16,
        features: FeatureSet::ALL,
    };
    for problem in &data.problems {
        for table in problem.measured.iter().chain(&problem.portable) {
            let wish = Wish { scan: &problem.scan, call_use: table.call_use, promised: Promises::ALL };
            for n in table.breakpoints.iter().map(|breakpoint| breakpoint.from).chain([0, u64::MAX]) {
                match pack.choose(&wish, &device, n) {
                    Ok(chosen) => assert!(data.recipes[usize::from(chosen.recipe)].recipe.takes(n.max(1))),
                    Err(why) => drop(why.to_string()),
                }
            }
        }
    }
});
