//! A device as wgpu drives it.
//!
//! Errors of validation are silent in WebGPU: what is wrong does nothing. So error scopes stand around everything that
//! is made and submitted, and what no scope has caught ends the next call.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use scanbox_kernels::plan::Module;
use scanbox_model::record::Status;

use super::adapter::{FEATURES, binding_bytes};
use super::layouts::Layouts;
use super::readback::{bytes_of, read};
use super::shader::{make, one_line, source, within_scopes};
use super::storage::StorageUse;
use super::work::{
    BINDING_ALIGNMENT, BoundDispatch, BufferKey, ByteRange, DeviceDriver, DeviceWork, Graveyard, HeldBuffer,
    PipelineKey, SLOT_BYTES, SLOT_WORDS, VECTOR_BYTES, WorkDone, WorkStep,
};
use crate::backend::Failure;

/// Timestamps of a set: the most that WebGPU allows.
const QUERIES: u32 = 4096;
/// Bytes of a timestamp.
const STAMP_BYTES: u64 = 8;

/// What happened that no call has reported.
#[derive(Debug, Default)]
struct Incidents {
    /// The device is gone.
    lost: Option<String>,
    /// An error that no scope has caught.
    uncaught: Option<String>,
}

/// A device, its queue, and what was made of them.
pub(super) struct WgpuDevice {
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// Whether shaders have the checks that wgpu adds.
    robust: bool,
    /// How long one submission may take.
    limit: Duration,
    limits: wgpu::Limits,
    incidents: Arc<Mutex<Incidents>>,
    buffers: HashMap<BufferKey, wgpu::Buffer>,
    made: u32,
    graveyard: Graveyard,
    layouts: Layouts,
    pipelines: Vec<WgpuPipeline>,
    /// What dispatches are told, a slot each.
    slots: Option<wgpu::Buffer>,
    /// Timestamps, and where they become words.
    queries: Option<(wgpu::QuerySet, wgpu::Buffer)>,
    /// Where the host reads.
    readback: Option<wgpu::Buffer>,
    busy_ns: f64,
}

struct WgpuPipeline {
    raw: wgpu::ComputePipeline,
    /// What it binds behind the words.
    storage: Vec<StorageUse>,
}

impl WgpuDevice {
    /// Opens an adapter.
    ///
    /// # Errors
    /// What wgpu says.
    pub fn open(adapter: &wgpu::Adapter, robust: bool, limit: Duration) -> Result<Self, String> {
        let limits = adapter.limits();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("scanbox"),
            required_features: FEATURES & adapter.features(),
            required_limits: limits.clone(),
            ..wgpu::DeviceDescriptor::default()
        };
        let opened = pollster::block_on(adapter.request_device(&descriptor));
        let (device, queue) = opened.map_err(|error| error.to_string())?;
        let incidents = Arc::new(Mutex::new(Incidents::default()));
        let told = Arc::clone(&incidents);
        device.set_device_lost_callback(move |reason, message| {
            // The end of the session is no loss.
            if reason != wgpu::DeviceLostReason::Destroyed {
                told.lock().unwrap_or_else(PoisonError::into_inner).lost.get_or_insert(message);
            }
        });
        let told = Arc::clone(&incidents);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let mut incidents = told.lock().unwrap_or_else(PoisonError::into_inner);
            incidents.uncaught.get_or_insert(one_line(&error.to_string()));
        }));
        let queries = device.features().contains(wgpu::Features::TIMESTAMP_QUERY).then(|| {
            let set = device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count: QUERIES,
            });
            let resolved = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("resolved timestamps"),
                size: u64::from(QUERIES) * STAMP_BYTES,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            (set, resolved)
        });
        Ok(Self {
            device,
            queue,
            robust,
            limit,
            limits,
            incidents,
            buffers: HashMap::new(),
            made: 0,
            graveyard: Rc::default(),
            layouts: Layouts::default(),
            pipelines: Vec::new(),
            slots: None,
            queries,
            readback: None,
            busy_ns: 0.0,
        })
    }

    /// Nanoseconds of a tick; those of a clock of the host are nanoseconds.
    pub fn period_ns(&self) -> f32 {
        if self.has_timestamps() { self.queue.get_timestamp_period() } else { 1.0 }
    }

    /// Whether something has happened that nobody was told of.
    fn check(&self) -> Result<(), Failure> {
        let mut incidents = self.incidents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(message) = &incidents.lost {
            return Err(Failure::new(Status::DeviceLost, format!("wgpu: the device was lost: {message}")));
        }
        match incidents.uncaught.take() {
            Some(message) => Err(Failure::new(Status::RuntimeError, format!("wgpu: {message}"))),
            None => Ok(()),
        }
    }

    /// What a failure comes from: what wgpu says to work on a device that is gone says nothing of the work.
    fn cause(&self, failure: Failure) -> Failure {
        if failure.is_fatal() {
            return failure;
        }
        // Who is told of the loss is told by a poll.
        let _ = self.device.poll(wgpu::PollType::Poll);
        self.check().err().filter(Failure::is_fatal).unwrap_or(failure)
    }

    /// Frees what nobody holds any more.
    fn bury(&mut self) {
        for key in self.graveyard.borrow_mut().drain(..) {
            if let Some(buffer) = self.buffers.remove(&key) {
                buffer.destroy();
            }
        }
    }

    fn raw_buffer(&self, name: &str, bytes: u64, usage: wgpu::BufferUsages) -> Result<wgpu::Buffer, Failure> {
        let most = self.limits.max_buffer_size;
        if bytes > most {
            let reason = format!("{name}: {bytes} bytes, and a buffer has at most {most}");
            return Err(Failure::new(Status::OutOfMemory, reason));
        }
        let size = bytes;
        let descriptor = wgpu::BufferDescriptor { label: Some(name), size, usage, mapped_at_creation: false };
        let made =
            within_scopes(&self.device, Status::RuntimeError, || self.device.create_buffer(&descriptor));
        made.map_err(|failure| Failure { reason: format!("{name}: {}", failure.reason), ..failure })
    }

    fn get(&self, key: BufferKey) -> &wgpu::Buffer {
        self.buffers.get(&key).expect("who has a key holds the buffer")
    }

    /// Sees to room for slots and what is fetched.
    fn reserve(&mut self, dispatches: usize, fetched: u64) -> Result<(), Failure> {
        let slots = dispatches.max(1) as u64 * SLOT_BYTES;
        if self.slots.as_ref().is_none_or(|buffer| buffer.size() < slots) {
            let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
            self.slots = Some(self.raw_buffer("slots", slots.next_power_of_two(), usage)?);
        }
        if self.readback.as_ref().is_none_or(|buffer| buffer.size() < fetched) {
            let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
            self.readback = Some(self.raw_buffer("readback", fetched.next_power_of_two(), usage)?);
        }
        Ok(())
    }

    /// Records and submits work.
    fn submit(&self, work: &DeviceWork, groups: &[wgpu::BindGroup], of: &[usize]) -> wgpu::SubmissionIndex {
        for (key, offset, words) in &work.writes {
            self.queue.write_buffer(self.get(*key), *offset, &bytes_of(words));
        }
        let mut told = Vec::new();
        for dispatch in dispatches_of(work) {
            told.extend_from_slice(&dispatch.words);
            told.resize(told.len().next_multiple_of(SLOT_WORDS), 0);
        }
        if let Some(slots) = self.slots.as_ref().filter(|_| !told.is_empty()) {
            self.queue.write_buffer(slots, 0, &bytes_of(&told));
        }
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let (mut slot, mut query, mut fetched) = (0, 0, 0);
        for step in &work.steps {
            match step {
                WorkStep::Clear(range) => {
                    encoder.clear_buffer(self.get(range.buffer), range.offset, Some(range.bytes));
                }
                WorkStep::Copy { from, to: (to, offset) } => {
                    let (from_buffer, to) = (self.get(from.buffer), self.get(*to));
                    encoder.copy_buffer_to_buffer(from_buffer, from.offset, to, *offset, Some(from.bytes));
                }
                WorkStep::Fetch(range) => {
                    if let Some(readback) = &self.readback {
                        let from = self.get(range.buffer);
                        encoder.copy_buffer_to_buffer(
                            from,
                            range.offset,
                            readback,
                            fetched,
                            Some(range.bytes),
                        );
                    }
                    fetched += range.bytes;
                }
                WorkStep::Pass { dispatches, is_timed } => {
                    let queries = self.queries.as_ref().filter(|_| *is_timed);
                    let timestamp_writes = queries.map(|(set, _)| wgpu::ComputePassTimestampWrites {
                        query_set: set,
                        beginning_of_pass_write_index: Some(query),
                        end_of_pass_write_index: Some(query + 1),
                    });
                    query += if queries.is_some() { 2 } else { 0 };
                    let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
                    let mut pass = encoder.begin_compute_pass(&descriptor);
                    let mut bound = None;
                    for dispatch in dispatches {
                        if bound != Some(dispatch.pipeline) {
                            pass.set_pipeline(&self.pipelines[dispatch.pipeline.0 as usize].raw);
                            bound = Some(dispatch.pipeline);
                        }
                        pass.set_bind_group(0, &groups[of[slot]], &[(slot as u64 * SLOT_BYTES) as u32]);
                        pass.dispatch_workgroups(dispatch.groups[0], dispatch.groups[1], 1);
                        slot += 1;
                    }
                }
            }
        }
        if let (Some((set, resolved)), Some(readback)) = (&self.queries, &self.readback)
            && query > 0
        {
            encoder.resolve_query_set(set, 0..query, resolved, 0);
            let bytes = u64::from(query) * STAMP_BYTES;
            encoder.copy_buffer_to_buffer(
                resolved,
                0,
                readback,
                fetched.next_multiple_of(STAMP_BYTES),
                Some(bytes),
            );
        }
        self.queue.submit([encoder.finish()])
    }

    /// The bind groups of work, each once, and which one each dispatch has.
    fn bind_groups(&mut self, work: &DeviceWork) -> Result<(Vec<wgpu::BindGroup>, Vec<usize>), Failure> {
        let (mut groups, mut of) = (Vec::new(), Vec::new());
        let mut known: HashMap<(&[StorageUse], &[ByteRange]), usize> = HashMap::new();
        let Self { layouts, pipelines, buffers, device, slots, .. } = self;
        for dispatch in dispatches_of(work) {
            let storage = &*pipelines[dispatch.pipeline.0 as usize].storage;
            let ranges = dispatch.bindings.get(..storage.len()).ok_or_else(|| {
                let (has, needs) = (dispatch.bindings.len(), storage.len());
                Failure::new(Status::RuntimeError, format!("{has} bindings, and the shader has {needs}"))
            })?;
            let place = *known.entry((storage, ranges)).or_insert_with(|| {
                let entry = |binding, buffer, offset, bytes| wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer,
                        offset,
                        size: std::num::NonZero::new(bytes),
                    }),
                };
                let slots = slots.as_ref().expect("slots are reserved before");
                let mut entries = vec![entry(0, slots, 0, SLOT_BYTES)];
                entries.extend((1..).zip(ranges).map(|(binding, range)| {
                    entry(binding, &buffers[&range.buffer], range.offset, range.bytes)
                }));
                groups.push(device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: None,
                    layout: &layouts.of(device, storage).0,
                    entries: &entries,
                }));
                groups.len() - 1
            });
            of.push(place);
        }
        Ok((groups, of))
    }

    /// Waits for a submission.
    fn wait(&self, index: wgpu::SubmissionIndex) -> Result<(), Failure> {
        let timeout = (self.limit != Duration::MAX).then_some(self.limit);
        match self.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout }) {
            Ok(_) => self.check(),
            Err(wgpu::PollError::Timeout) => {
                let seconds = self.limit.as_secs_f64();
                let reason =
                    format!("the device did not finish within {seconds} s (--timeout sets the limit)");
                Err(Failure::new(Status::Timeout, reason))
            }
            Err(error) => {
                // What a lost device did not take cannot be waited for either: the loss is what is to be told.
                self.check()?;
                Err(Failure::new(Status::RuntimeError, format!("wgpu: {error}")))
            }
        }
    }

    /// Submits work and reads what comes of it.
    fn run_through(&mut self, work: &DeviceWork) -> Result<WorkDone, Failure> {
        self.check()?;
        self.bury();
        let timed = work.timed_passes();
        let stamps = if self.has_timestamps() { 2 * timed as u64 } else { 0 };
        if stamps > u64::from(QUERIES) || (timed > 1 && !self.has_timestamps()) {
            let reason = format!("{timed} timed passes in one submission");
            return Err(Failure::new(Status::Unsupported, reason));
        }
        let fetched: u64 = work
            .steps
            .iter()
            .filter_map(|step| if let WorkStep::Fetch(range) = step { Some(range.bytes) } else { None })
            .sum();
        let fetched = fetched.next_multiple_of(STAMP_BYTES);
        let bytes = fetched + stamps * STAMP_BYTES;
        self.reserve(dispatches_of(work).count(), bytes)?;
        let device = self.device.clone();
        let start = Instant::now();
        let index = within_scopes(&device, Status::RuntimeError, || {
            let (groups, of) = self.bind_groups(work)?;
            Ok(self.submit(work, &groups, &of))
        })??;
        let readback = self.readback.as_ref().filter(|_| bytes > 0);
        let mapped = Arc::new(Mutex::new(None));
        if let Some(readback) = readback {
            let told = Arc::clone(&mapped);
            readback.slice(..bytes).map_async(wgpu::MapMode::Read, move |outcome| {
                *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            });
        }
        self.wait(index)?;
        let took_ns = start.elapsed().as_nanos() as u64;
        self.busy_ns += took_ns as f64;
        let Some(readback) = self.readback.as_ref().filter(|_| bytes > 0) else {
            return work.read(&[], self.has_timestamps(), took_ns);
        };
        work.read(&read(readback, bytes, &mapped)?, self.has_timestamps(), took_ns)
    }
}

impl DeviceDriver for WgpuDevice {
    fn buffer(&mut self, name: &'static str, bytes: u64) -> Result<HeldBuffer, Failure> {
        self.check()?;
        self.bury();
        let bytes = bytes.max(1).checked_next_multiple_of(BINDING_ALIGNMENT).unwrap_or(u64::MAX);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let raw = self.raw_buffer(name, bytes, usage).map_err(|failure| self.cause(failure))?;
        let key = BufferKey(self.made);
        self.made += 1;
        self.buffers.insert(key, raw);
        Ok(HeldBuffer::new(key, bytes, &self.graveyard))
    }

    fn drop_pipelines(&mut self) {
        self.pipelines.clear();
    }

    fn pipelines(&mut self, modules: &[Module]) -> Vec<Result<PipelineKey, Failure>> {
        let Self { device, layouts, robust, pipelines, .. } = self;
        let sources: Vec<Result<(String, Vec<StorageUse>), Failure>> = modules.iter().map(source).collect();
        let with_layouts: Vec<Result<(String, wgpu::PipelineLayout), Failure>> = sources
            .iter()
            .map(|source| {
                source.clone().map(|(text, storage)| (text, layouts.of(device, &storage).1.clone()))
            })
            .collect();
        let (device, robust) = (&*device, *robust);
        let made: Vec<Result<wgpu::ComputePipeline, Failure>> = with_layouts
            .into_par_iter()
            .map(|source| source.and_then(|(text, layout)| make(device, text, &layout, robust)))
            .collect();
        let keys = made.into_iter().zip(sources).map(|(made, source)| {
            let ((_, storage), raw) = (source?, made?);
            pipelines.push(WgpuPipeline { raw, storage });
            Ok(PipelineKey(pipelines.len() as u32 - 1))
        });
        let keys: Vec<Result<PipelineKey, Failure>> = keys.collect();
        keys.into_iter().map(|key| key.map_err(|failure| self.cause(failure))).collect()
    }

    fn write(&mut self, to: &HeldBuffer, offset: u64, words: &[u32]) -> Result<(), Failure> {
        self.check()?;
        let written = within_scopes(&self.device, Status::RuntimeError, || {
            self.queue.write_buffer(self.get(to.key), offset, &bytes_of(words));
        });
        written.map_err(|failure| self.cause(failure))
    }

    fn run(&mut self, work: &DeviceWork) -> Result<WorkDone, Failure> {
        self.run_through(work).map_err(|failure| self.cause(failure))
    }

    fn busy_ns(&self) -> f64 {
        self.busy_ns
    }

    fn binding_bytes(&self) -> u64 {
        binding_bytes(&self.limits) / VECTOR_BYTES * VECTOR_BYTES
    }

    fn has_timestamps(&self) -> bool {
        self.queries.is_some()
    }
}

impl Drop for WgpuDevice {
    fn drop(&mut self) {
        // What was submitted is done: every call waits, or its failure ends the process.
        self.buffers.values().for_each(wgpu::Buffer::destroy);
    }
}

fn dispatches_of(work: &DeviceWork) -> impl Iterator<Item = &BoundDispatch> {
    work.steps.iter().flat_map(|step| match step {
        WorkStep::Pass { dispatches, .. } => &dispatches[..],
        _ => &[],
    })
}
