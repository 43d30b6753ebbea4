//! Known issues: any text gives issues or an error, and issues take any device and any config.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scanbox_model::config::Config;
use scanbox_model::known_issues::KnownIssues;
use scanbox_model::record::Status;
use scanbox_runner::backend::Backend;
use scanbox_runner::replay::{Replay, Script};

fuzz_target!(|text: &str| {
    let Ok(issues) = KnownIssues::from_toml(text, "fuzz.toml") else { return };
    let replay =
        Replay::new(Script { driver: "llvmpipe (LLVM 15, Mesa 22.3.6)".to_owned(), ..Script::default() });
    let _ = issues.environment(|_| None);
    let on_device = issues.on(replay.profile(), |_| None);
    let config: Config = "b4.vec4.par.rake.wg256.g1024".parse().expect("a label");
    let _ = on_device.forced();
    let _ = on_device.allow(&config, &config);
    for status in Status::ALL {
        let _ = on_device.judge(&config, &config, status);
    }
});
