//! Pipelines: created in parallel, kept for the session, and cached on disk between sessions.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ash::vk;
use rayon::prelude::*;
use scanbox_kernels::plan::{ARGUMENT_WORDS, Module, Shader};
use scanbox_model::config::Arguments;
use scanbox_model::record::Status;
use scanbox_vk::line::line_addresses;
use scanbox_vk::pipeline::{self, PipelineSource};
use scanbox_vk::shape::WorkgroupShape;

use super::device::{Gpu, hex};
use super::statistics::PipelineStatistics;
use crate::backend::{Failure, PipelineInfo};

/// All pipelines of a session. They share one layout: no descriptors, and all push constants there may be.
pub(super) struct Pipelines {
    gpu: Arc<Gpu>,
    layout: vk::PipelineLayout,
    cache: vk::PipelineCache,
    file: Option<PathBuf>,
    by_shader: HashMap<Shader, Pipeline>,
    /// The address of the first line of arguments.
    lines: vk::DeviceAddress,
    /// That of the scratch memory; 0 where there is none yet.
    scratch: vk::DeviceAddress,
    /// What pipelines with addresses in them are made of.
    modules: HashMap<Shader, Module>,
    /// Those pipelines. Their addresses change from session to session, so that no cache on disk has them.
    bound: Mutex<HashMap<BoundKey, Pipeline>>,
}

/// What a pipeline with addresses in it is made of.
#[derive(Clone, PartialEq, Eq, Hash)]
struct BoundKey {
    shader: Shader,
    /// The line of its arguments.
    line: vk::DeviceAddress,
    /// Where they are baked.
    arguments: Option<[u32; ARGUMENT_WORDS]>,
    /// The largest n, where calls have their own.
    max_n: u32,
}

/// Arguments that are baked into pipelines that are made and never run: addresses that differ, and many elements.
/// Another number of elements may give another program, with other registers.
const SOME_ARGUMENTS: [u32; ARGUMENT_WORDS] = {
    let mut words = [1 << 28; ARGUMENT_WORDS];
    let mut place = 0;
    while place < ARGUMENT_WORDS {
        words[place] += 256 * place as u32;
        place += 1;
    }
    words
};

/// The largest n of pipelines whose registers are asked for before it is known.
const SOME_N: u32 = 1 << 20;

/// Pipelines with baked arguments that are kept: enough for a benchmark of several, whose subjects take turns.
const MAX_BAKED: usize = 64;

/// A pipeline, and what the driver tells about it.
struct Pipeline {
    gpu: Arc<Gpu>,
    raw: vk::Pipeline,
    info: PipelineInfo,
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: no submitted work uses the pipeline: every submission is waited for, and a session that gave up
        // waiting never drops its pipelines.
        unsafe { self.gpu.raw.destroy_pipeline(self.raw, None) };
    }
}

impl Pipelines {
    /// No pipelines yet. `folder` is where the cache is kept between sessions.
    /// `lines` is the address of the first line of arguments.
    pub fn new(gpu: &Arc<Gpu>, folder: Option<&Path>, lines: vk::DeviceAddress) -> Result<Self, vk::Result> {
        // SAFETY: the device is valid; the layout goes with these pipelines, which hold the device.
        let layout = unsafe { pipeline::create_layout(&gpu.raw) }?;
        // An owner from here on.
        let mut pipelines = Self {
            gpu: Arc::clone(gpu),
            layout,
            cache: vk::PipelineCache::null(),
            file: folder.map(|folder| folder.join(cache_file_name(gpu))),
            by_shader: HashMap::new(),
            lines,
            scratch: 0,
            modules: HashMap::new(),
            bound: Mutex::default(),
        };
        let stored = pipelines.file.as_deref().and_then(read_cache).unwrap_or_default();
        let create = |data: &[u8]| {
            let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
            // SAFETY: the data is empty or what this driver gave for this device: name and checksum say so. The
            // driver checks its own header too.
            unsafe { gpu.raw.create_pipeline_cache(&info, None) }
        };
        pipelines.cache = create(&stored).or_else(|_| create(&[]))?;
        Ok(pipelines)
    }

    pub fn layout(&self) -> vk::PipelineLayout {
        self.layout
    }

    /// The pipeline of a shader.
    pub fn get(&self, shader: &Shader) -> Result<vk::Pipeline, Failure> {
        Ok(self.pushed(shader)?.0)
    }

    /// The same, and what the driver told about it.
    pub fn pushed(&self, shader: &Shader) -> Result<(vk::Pipeline, PipelineInfo), Failure> {
        self.by_shader
            .get(shader)
            .map(|pipeline| (pipeline.raw, pipeline.info))
            .ok_or_else(|| Failure::new(Status::RuntimeError, format!("no pipeline was created of {shader}")))
    }

    /// The pipeline of a shader with the address of its line in it and, where they are given, its arguments; and what
    /// the plan was laid out for, where calls say themselves how many elements they have.
    pub fn bound(
        &self,
        shader: &Shader,
        line: vk::DeviceAddress,
        arguments: Option<[u32; ARGUMENT_WORDS]>,
        max_n: Option<u64>,
    ) -> Result<(vk::Pipeline, PipelineInfo), Failure> {
        let max_n = max_n.map_or(0, |max_n| u32::try_from(max_n).unwrap_or(u32::MAX));
        self.bind(BoundKey { shader: shader.clone(), line, arguments, max_n })
    }

    /// The scratch memory stands here from now on: pipelines that have another address in them are gone.
    pub fn rebind(&mut self, scratch: vk::DeviceAddress) {
        self.scratch = scratch;
        self.bound
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|bound, _| !bound.shader.turns_itself());
    }

    /// Drops every pipeline. Nothing that is recorded uses them.
    pub fn drop_all(&mut self) {
        self.by_shader.clear();
        self.bound.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn bind(&self, bound: BoundKey) -> Result<(vk::Pipeline, PipelineInfo), Failure> {
        let known = |all: &HashMap<BoundKey, Pipeline>| all.get(&bound).map(|one| (one.raw, one.info));
        let lock = || self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known(&lock()) {
            return Ok(known);
        }
        let module = self.modules.get(&bound.shader).ok_or_else(|| {
            let shader = &bound.shader;
            Failure::new(Status::RuntimeError, format!("no pipeline was created of {shader}"))
        })?;
        let constants = pipeline::constants(bound.arguments.as_ref(), bound.line, self.scratch, bound.max_n);
        let pipeline = self.create_one(module, &constants)?;
        let made = (pipeline.raw, pipeline.info);
        lock().insert(bound, pipeline);
        Ok(made)
    }

    /// Drops pipelines with baked arguments, where there are too many. Nothing that is recorded uses them.
    pub fn make_room(&self) {
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if bound.keys().filter(|one| one.arguments.is_some()).count() >= MAX_BAKED {
            bound.retain(|one, _| one.arguments.is_none());
        }
    }

    /// Creates the pipelines that are not there yet, on all cores. Those whose arguments stand in a line are made for
    /// the first two. Those that have them baked are made when they are known.
    pub fn create(&mut self, modules: &[Module]) -> Vec<Result<PipelineInfo, Failure>> {
        for module in modules.iter().filter(|module| module.shader.arguments() != Arguments::Push) {
            self.modules.entry(module.shader.clone()).or_insert_with(|| module.clone());
        }
        let created: Vec<_> = modules
            .par_iter()
            .map(|module| match (module.shader.arguments(), self.by_shader.get(&module.shader)) {
                (Arguments::Push, None) => Some(self.create_one(module, &[]).map(Created::Push)),
                (Arguments::Push, Some(_)) => None,
                (Arguments::Baked, _) => Some(Ok(Created::Bound(PipelineInfo::default()))),
                (Arguments::Block, _) => {
                    let max_n = if module.shader.counts_at_each_call() { SOME_N } else { 0 };
                    let bind = |line| {
                        let shader = module.shader.clone();
                        self.bind(BoundKey { shader, line, arguments: None, max_n })
                    };
                    let [first, second] = line_addresses(self.lines, 0);
                    let bound = bind(first).and_then(|_| bind(second));
                    Some(bound.map(|(_, info)| Created::Bound(info)))
                }
            })
            .collect();
        let mut any = false;
        let infos = modules
            .iter()
            .zip(created)
            .map(|(module, created)| {
                let entry = self.by_shader.entry(module.shader.clone());
                Ok(match (entry, created.transpose()?) {
                    (_, Some(Created::Bound(info))) => info,
                    (Entry::Vacant(entry), Some(Created::Push(pipeline))) => {
                        any = true;
                        entry.insert(pipeline).info
                    }
                    // It was there, or the same shader is twice in the list.
                    (Entry::Occupied(entry), _) => entry.get().info,
                    (Entry::Vacant(_), None) => unreachable!("it was there"),
                })
            })
            .collect();
        if any {
            // Now and not at the end: the process may not come to an orderly end. A cache that cannot be written
            // costs time in the next session and nothing else.
            let _ = self.save();
        }
        infos
    }

    /// Makes a pipeline and keeps nothing of it but what the driver tells; one whose arguments are not pushed with
    /// arguments that nothing runs with.
    pub fn tried(&self, module: &Module) -> Result<PipelineStatistics, Failure> {
        let [line, _] = line_addresses(self.lines, 0);
        let constants = match module.shader.arguments() {
            Arguments::Push => Vec::new(),
            Arguments::Block => pipeline::constants(None, line, self.scratch, SOME_N).to_vec(),
            Arguments::Baked => {
                pipeline::constants(Some(&SOME_ARGUMENTS), line, self.scratch, SOME_N).to_vec()
            }
        };
        let pipeline = self.create_one(module, &constants)?;
        Ok(PipelineStatistics::of(&self.gpu, pipeline.raw))
    }

    /// `constants`: the values of the specialisation constants 0, 1 and so on.
    fn create_one(&self, module: &Module, constants: &[u32]) -> Result<Pipeline, Failure> {
        let gpu = &self.gpu;
        let shader = &module.shader;
        let Shader { workgroup_size, subgroup_size, .. } = *shader;
        let shape = WorkgroupShape { workgroup_size, subgroup_size };
        let limits = gpu.shape_limits();
        // Mostly the rules of the space have seen to it before.
        limits.check(shape).map_err(|wrong| Failure::new(Status::Unsupported, wrong.to_string()))?;
        let refused = |result: vk::Result| {
            let status = match result {
                vk::Result::ERROR_DEVICE_LOST => Status::DeviceLost,
                _ => Status::PipelineError,
            };
            Failure::new(status, format!("the driver makes no pipeline of it: {result}"))
        };
        let mut flags = vk::PipelineCreateFlags::empty();
        if gpu.statistics.is_some() {
            flags |= vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR;
        }
        // Addresses are those of this session.
        let cache = if constants.is_empty() { self.cache } else { vk::PipelineCache::null() };
        let pinned = limits.pinned(shape);
        let no_words = || Failure::new(Status::Unsupported, format!("{shader} is not in SPIR-V"));
        let spirv = module.code.spirv().ok_or_else(no_words)?;
        let spirv = gpu
            .enabled
            .adapted(&spirv)
            .map_err(|reason| Failure::new(Status::Unsupported, format!("{shader}: {reason}")))?;
        let source = PipelineSource { spirv: &spirv, pinned, constants, flags };
        let begun = Instant::now();
        // SAFETY: the words come from the compiler, for this version of Vulkan and the features that are enabled; the
        // layout is valid, and the cache is synchronised by the driver.
        let raw = unsafe { pipeline::create(&gpu.raw, self.layout, cache, &source) }.map_err(refused)?;
        let (ms, is_bound) = (begun.elapsed().as_secs_f64() * 1e3, !constants.is_empty());
        tracing::debug!(%shader, is_bound, ms, "made a pipeline");
        // An owner from here on.
        let mut pipeline = Pipeline { gpu: Arc::clone(gpu), raw, info: PipelineInfo::default() };
        let told = PipelineStatistics::of(gpu, raw);
        pipeline.info =
            PipelineInfo { registers: told.registers, subgroups_per_simd: told.subgroups_per_simd };
        if let Some(wrong) = told.other_subgroup_size(&gpu.profile, subgroup_size) {
            return Err(Failure::new(Status::Unsupported, wrong));
        }
        gpu.name(raw, shader.root);
        Ok(pipeline)
    }

    /// Writes the cache beside its place and moves it there, so that no reader ever sees a part of it.
    fn save(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        // SAFETY: the cache is valid; nothing else uses it now.
        let data = unsafe { self.gpu.raw.get_pipeline_cache_data(self.cache) }
            .map_err(|result| io::Error::other(result.to_string()))?;
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let fresh = file.with_extension(format!("{}.tmp", std::process::id()));
        let sealed = [&checksum(&data).to_le_bytes()[..], &data].concat();
        fs::write(&fresh, sealed).and_then(|()| fs::rename(&fresh, file)).inspect_err(|_| {
            let _ = fs::remove_file(&fresh);
        })
    }
}

/// A pipeline of a shader alone, or what the driver tells about one that is kept elsewhere.
enum Created {
    Push(Pipeline),
    Bound(PipelineInfo),
}

impl Drop for Pipelines {
    fn drop(&mut self) {
        // SAFETY: nothing is recorded or created with them any more; pipelines do not need their layout or cache.
        unsafe {
            self.gpu.raw.destroy_pipeline_cache(self.cache, None);
            self.gpu.raw.destroy_pipeline_layout(self.layout, None);
        }
    }
}

/// A cache is only good for one build of one driver.
fn cache_file_name(gpu: &Gpu) -> String {
    let uuid = hex(gpu.limits.pipeline_cache_uuid);
    format!("pipelines-{uuid}-{:08x}.bin", gpu.limits.driver_version)
}

/// What [`Pipelines::save`] wrote, or nothing where it is missing or damaged.
///
/// Drivers check the header of the data (Vulkan 1.3, 10.7.3) and trust the rest: hence the checksum.
fn read_cache(file: &Path) -> Option<Vec<u8>> {
    let mut stored = fs::read(file).ok()?;
    let data = stored.split_off(stored.len().min(size_of::<u64>()));
    let sum = u64::from_le_bytes(stored.try_into().ok()?);
    (sum == checksum(&data)).then_some(data)
}

/// FNV-1a, 64 bits (Fowler, Noll and Vo; draft-eastlake-fnv).
fn checksum(data: &[u8]) -> u64 {
    data.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_cache_files_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache.bin");
        let data = b"whatever a driver writes".to_vec();
        let sealed = [&checksum(&data).to_le_bytes()[..], &data].concat();
        let check = |content: &[u8], expected: Option<&[u8]>| {
            fs::write(&file, content).unwrap();
            assert_eq!(read_cache(&file).as_deref(), expected);
        };
        check(&sealed, Some(&data));
        check(&sealed[..sealed.len() - 1], None);
        check(&sealed[..5], None);
        check(b"", None);
        let mut flipped = sealed.clone();
        flipped[12] ^= 1;
        check(&flipped, None);
        assert_eq!(read_cache(&folder.path().join("missing")), None);
    }

    #[test]
    fn checksum_is_fnv_1a() {
        // From the reference vectors of the draft.
        assert_eq!(checksum(b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(checksum(b"foobar"), 0x8594_4171_F739_67E8);
    }
}
