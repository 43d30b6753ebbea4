//! What a replay device answers to probes of guarantees: what its script says.

use std::time::Duration;

use scanbox_kernels::glsl::{ProbeShader, held_by};
use scanbox_kernels::plan::Shader;
use scanbox_model::record::Status;

use super::Replay;
use super::script::ProbeScript;
use crate::backend::{Failure, ProbeAnswer, ProbeCall};
use crate::guarantees::{AHEAD, AWAITED, COUNTED, ENDED, GAVE_UP, WHO, WORDS_READ};

/// How long a round of a wait takes.
const ROUND_NS: f64 = 1000.0;
/// A call that takes longer costs the device, where calls take their time.
const PATIENCE_NS: f64 = 5e9;

impl Replay {
    pub(super) fn answer(&mut self, call: &ProbeCall<'_>) -> Result<ProbeAnswer, Failure> {
        let Some(script) = self.script.probe.clone() else {
            return Err(Failure::new(Status::Unsupported, "this device has nothing to be asked for"));
        };
        let (workgroup_size, subgroup_size) = (call.shader.workgroup_size, call.shader.subgroup_size);
        let asks = |probe: ProbeShader| *call.shader == probe.shader(workgroup_size, subgroup_size);
        let mut words = [0; WORDS_READ];
        words[ENDED] = call.workgroups();
        let mut refuse = |who: u32, awaited: u32| {
            (words[GAVE_UP], words[WHO], words[AWAITED]) = (1, who + 1, awaited + 1);
        };
        let label = if asks(ProbeShader::Speed) {
            refuse(0, 0);
            "probe.speed"
        } else if asks(ProbeShader::Order) {
            if !script.order {
                words[AHEAD] = 1 << 15;
            } else if !script.order_of_rows && call.groups[1] > 1 {
                refuse(call.groups[0], call.groups[0] - 1);
            } else if !script.order_of_waits && call.arguments[2] == 1 {
                refuse(2, 1);
            }
            "probe.order"
        } else if asks(ProbeShader::Subgroups) {
            if !script.subgroups {
                refuse(1, 0);
            }
            "probe.subgroups"
        } else if asks(ProbeShader::Progress) {
            if !script.progress {
                refuse(7, 6);
            }
            "probe.progress"
        } else {
            match call.arguments[2] {
                0 => words[COUNTED] = call.workgroups().min(resident(&script, workgroup_size)),
                _ if !script.together => refuse(3, 3),
                _ => {}
            }
            "probe.residents"
        };
        self.fail_at(label, u64::from(call.workgroups()))?;
        let busy_ns = f64::from(call.arguments[0]) * ROUND_NS;
        if script.clock {
            return Ok(ProbeAnswer { words, busy_ns });
        }
        let waited_ns = if words[GAVE_UP] > 0 { busy_ns } else { 0.0 };
        if waited_ns > PATIENCE_NS {
            return Err(self.lose());
        }
        std::thread::sleep(Duration::from_nanos(waited_ns as u64));
        Ok(ProbeAnswer { words, busy_ns: 0.0 })
    }
}

fn resident(script: &ProbeScript, workgroup_size: u32) -> u32 {
    (script.invocations / workgroup_size).max(1)
}

/// Registers of an invocation: of a probe those that it holds, and some of its own.
pub(super) fn registers_of(shader: &Shader) -> u32 {
    held_by(shader).map_or(32, |held| held + 14)
}
