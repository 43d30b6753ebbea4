//! Co-residency: how many workgroups of a shape are there at the same time, and whether as many always run together.
//!
//! Shapes are sizes of workgroups, each with registers in steps up to what a kernel may take: a config asks for no more
//! of anything than one of them, and so fits where that one does. How many registers a probe takes is up to the driver,
//! so it is tried which build of it takes how many.

use std::collections::BTreeSet;

use scanbox_kernels::glsl::{COUNTED_REGISTERS, ProbeShader};
use scanbox_kernels::plan::Shader;
use scanbox_model::guarantee_probe::ResidentShape;
use scanbox_model::record::Status;
use scanbox_model::units::plural;

use super::{AskedOutcome, AskedRound, Asking, COUNTED, FLAGS, GAVE_UP};
use crate::backend::Failure;

/// Sizes of workgroups.
const SIZES: [u32; 7] = [64, 128, 192, 256, 384, 512, 1024];
/// The same of software devices, where a workgroup takes a thread, whatever it asks for.
const SOFTWARE_SIZES: [u32; 2] = [256, 1024];
/// What a build takes beside those that it holds, to begin with.
const OWN_REGISTERS: u32 = 14;
/// How often the build of so many registers is tried to be hit.
const TRIES: usize = 3;
/// What is held where the driver tells no registers: as many as the largest kernels take.
const HELD_UNTOLD: u32 = 128;
/// Shared memory of most shapes: more than kernels take that load tiles of 4-byte elements in rows.
const SHARED_WORDS: u32 = 1 << 7;
/// What larger elements take, and kernels that transpose tiles, of these sizes; two builds of each are counted.
const MORE_SHARED_WORDS: [u32; 2] = [1 << 10, 6 << 10];
const SHARING_SIZES: [u32; 3] = [128, 256, 512];
const SHARING_REGISTERS: [u32; 3] = [64, 128, 255];
/// Words of memory: what is counted, and what is held, from a place of its own each.
const WORDS: u64 = FLAGS + 8 + HELD_MOST as u64;
const HELD_MOST: u32 = 256;
/// How often a shape is counted, and how often as many meet; half of it beside other work.
const COUNTS: u32 = 2;
const MEETINGS: u32 = 2;
/// Workgroups to begin with.
const FIRST_LAUNCH: [u32; 2] = [1 << 13, 1 << 6];

impl Asking<'_> {
    /// Workgroups of this size that are there at the same time, with little beside them.
    pub(super) fn resident_of(&mut self, workgroup_size: u32) -> Result<u32, Failure> {
        let probe = ProbeShader::Residents { held: 0, shared_words: 1 };
        let shader = self.shader(probe, workgroup_size)?;
        self.count(&shader, false)
    }

    /// Counts them: of more and more, until not all of them are there at the same time.
    fn count(&mut self, shader: &Shader, has_load: bool) -> Result<u32, Failure> {
        let most = self.device.max_workgroup_count[0].min(1 << 16);
        let mut launched = FIRST_LAUNCH[self.kind].min(most);
        loop {
            let counted = self.ask(shader, [launched, 1], 0, WORDS, has_load)?.words[COUNTED];
            if counted == 0 || counted > launched {
                let reason = format!("{counted} of {launched} workgroups were counted");
                return Err(Failure::new(Status::WrongResult, reason));
            }
            if counted < launched || launched == most {
                return Ok(counted);
            }
            launched = launched.saturating_mul(4).min(most);
        }
    }

    /// How many registers builds take, as many as are looked for or the next fewer, and how many of them each holds.
    fn builds(&mut self, workgroup_size: u32, subgroup_size: u32) -> Result<Vec<(u32, u32)>, Failure> {
        let shader = |held: &u32| residents(*held, workgroup_size, subgroup_size, SHARED_WORDS);
        // On a software device a workgroup takes a thread, whatever it asks for.
        if self.kind == 1 || self.make(&[shader(&HELD_UNTOLD)])? == [None] {
            return Ok(vec![(u32::MAX, HELD_UNTOLD)]);
        }
        let wanted = COUNTED_REGISTERS;
        let mut held: Vec<u32> = wanted.iter().map(|wanted| wanted - OWN_REGISTERS).collect();
        let mut best: Vec<Option<(u32, u32)>> = vec![None; wanted.len()];
        for _ in 0..TRIES {
            let made = self.make(&held.iter().map(shader).collect::<Vec<_>>())?;
            for (place, taken) in made.into_iter().enumerate() {
                let Some(taken) = taken else { continue };
                let before = best[place].map_or(0, |(taken, _)| taken);
                if taken <= wanted[place] && taken > before {
                    best[place] = Some((taken, held[place]));
                }
                held[place] = (held[place] + wanted[place]).saturating_sub(taken).min(HELD_MOST);
            }
        }
        let mut builds: Vec<(u32, u32)> = best.into_iter().flatten().collect();
        builds.dedup();
        Ok(if builds.is_empty() { vec![(u32::MAX, HELD_UNTOLD)] } else { builds })
    }

    pub(super) fn co_residency(&mut self) -> Result<(AskedOutcome, Vec<ResidentShape>), Failure> {
        let own = self.device.subgroup_size;
        // Kernels may be built for each of them; of a software device it does not matter.
        let others = self.device.offered_subgroup_sizes().into_iter().filter(|size| *size != own);
        let others = others.filter(|_| self.kind == 0).collect::<Vec<_>>();
        let mut shapes: Vec<ResidentShape> = Vec::new();
        self.calls = 0;
        for subgroup_size in std::iter::once(own).chain(others) {
            if let Some(refuted) = self.count_shapes(subgroup_size, &mut shapes)? {
                return Ok((AskedOutcome::Refuted(refuted), Vec::new()));
            }
        }
        let told = |shape: &ResidentShape| {
            let registers =
                shape.registers.map_or_else(String::new, |registers| format!(" and {registers} registers"));
            format!(
                "{} of {}{registers}",
                plural(shape.workgroups as usize, "workgroup"),
                shape.workgroup_size
            )
        };
        let most = shapes.iter().max_by_key(|shape| shape.workgroups).map(told).unwrap_or_default();
        let detail = format!("up to {most} together, {}", plural(shapes.len(), "shape"));
        Ok((AskedOutcome::NotRefuted(detail), shapes))
    }

    /// Counts the workgroups of all shapes with subgroups of a size. Returns what was seen, where not as many met.
    fn count_shapes(
        &mut self,
        subgroup_size: u32,
        shapes: &mut Vec<ResidentShape>,
    ) -> Result<Option<String>, Failure> {
        let other_size = self.device.other_subgroup_size(subgroup_size);
        let listed: &[u32] = if self.kind == 0 { &SIZES } else { &SOFTWARE_SIZES };
        let most = self.device.max_workgroup_size;
        // Of a size that is chosen, a workgroup may have so many.
        let most_subgroups =
            self.device.pinned_subgroups.filter(|_| other_size.is_some()).unwrap_or(u32::MAX);
        let fits = |size: &u32| {
            size.is_multiple_of(subgroup_size) && *size <= most && size / subgroup_size <= most_subgroups
        };
        let sizes: Vec<u32> = listed.iter().copied().filter(fits).collect();
        let smallest = sizes.first().copied().unwrap_or(subgroup_size);
        let sizes = if sizes.is_empty() { vec![smallest] } else { sizes };
        let builds = self.builds(smallest, subgroup_size)?;
        let all = || builds.iter().map(|(_, held)| (*held, SHARED_WORDS)).collect::<Vec<_>>();
        // Of each of those registers the build that takes the most.
        let few = SHARING_REGISTERS.iter().filter_map(|&registers| {
            let fitting = builds.iter().filter(|(taken, _)| *taken <= registers || *taken == u32::MAX);
            fitting.max_by_key(|(taken, _)| *taken).map(|(_, held)| *held)
        });
        let few = few.flat_map(|held| MORE_SHARED_WORDS.map(|words| (held, words)));
        let few: Vec<_> = few.filter(|(_, words)| self.device.max_shared_bytes >= 4 * words + 16).collect();
        for workgroup_size in sizes {
            let mut asked = all();
            asked.extend(few.iter().filter(|_| SHARING_SIZES.contains(&workgroup_size)));
            asked.dedup();
            let shaders: Vec<Shader> = asked
                .iter()
                .map(|(held, shared_words)| residents(*held, workgroup_size, subgroup_size, *shared_words))
                .collect();
            let made = self.make(&shaders)?;
            let mut counted = BTreeSet::new();
            for ((shader, registers), (_, shared_words)) in shaders.iter().zip(made).zip(asked) {
                // In a large workgroup a driver gives builds that hold more the registers of one that holds less.
                if registers.is_some_and(|registers| !counted.insert((registers, shared_words))) {
                    continue;
                }
                let mut workgroups = u32::MAX;
                for number in 0..COUNTS {
                    workgroups = workgroups.min(self.count(shader, number % 2 == 1)?);
                }
                for number in 0..MEETINGS {
                    let round = AskedRound { number, of: MEETINGS };
                    let answer = self.ask(shader, [workgroups, 1], workgroups, WORDS, round.has_load())?;
                    if answer.words[GAVE_UP] > 0 {
                        let detail = format!(
                            "{}: {workgroups} workgroups of {workgroup_size}, as many as were there at the same time \
                             before, waited {:.0} ms for each other without success",
                            round.told(),
                            self.give_up_ms()
                        );
                        return Ok(Some(detail));
                    }
                }
                let shared_bytes = u64::from(shared_words) * 4;
                shapes.push(ResidentShape {
                    subgroup_size: other_size,
                    workgroup_size,
                    registers,
                    shared_bytes,
                    workgroups: workgroups.into(),
                });
            }
        }
        Ok(None)
    }
}

/// The shader that counts workgroups of this size whose invocations hold so many registers.
fn residents(held: u32, workgroup_size: u32, subgroup_size: u32, shared_words: u32) -> Shader {
    ProbeShader::Residents { held, shared_words }.shader(workgroup_size, subgroup_size)
}
