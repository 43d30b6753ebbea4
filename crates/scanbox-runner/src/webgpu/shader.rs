//! Shaders become pipelines; and what wgpu finds wrong with that, or with anything else.

use scanbox_kernels::plan::Module;
use scanbox_kernels::wgsl::for_naga;
use scanbox_model::record::Status;

use super::storage::{StorageUse, storage_of};
use super::unchecked;
use crate::backend::Failure;

/// The text of a module as wgpu takes it, and what it binds.
pub(super) fn source(module: &Module) -> Result<(String, Vec<StorageUse>), Failure> {
    let text = module.code.wgsl().ok_or_else(|| {
        Failure::new(Status::CompileError, format!("{}: WebGPU takes WGSL alone", module.shader))
    })?;
    let text = for_naga(&text);
    let storage = storage_of(&text);
    Ok((text, storage))
}

pub(super) fn make(
    device: &wgpu::Device,
    text: String,
    layout: &wgpu::PipelineLayout,
    robust: bool,
) -> Result<wgpu::ComputePipeline, Failure> {
    let module = within_scopes(device, Status::CompileError, || {
        if robust {
            let source = wgpu::ShaderSource::Wgsl(text.into());
            device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source })
        } else {
            unchecked::shader(device, text)
        }
    })?;
    within_scopes(device, Status::CompileError, || {
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: robust,
                ..wgpu::PipelineCompilationOptions::default()
            },
            cache: None,
        })
    })
}

/// Does something, and says what wgpu finds wrong with it: with this status, but for a lack of memory.
pub(super) fn within_scopes<T>(
    device: &wgpu::Device,
    status: Status,
    act: impl FnOnce() -> T,
) -> Result<T, Failure> {
    let filters =
        [wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation];
    let scopes = filters.map(|filter| device.push_error_scope(filter));
    let done = act();
    // In reverse order, all of them.
    let [memory, internal, validation] = scopes;
    let validation = pollster::block_on(validation.pop());
    let internal = pollster::block_on(internal.pop());
    let memory = pollster::block_on(memory.pop());
    match memory.or(validation).or(internal) {
        None => Ok(done),
        Some(wgpu::Error::OutOfMemory { .. }) => {
            Err(Failure::new(Status::OutOfMemory, "wgpu: there is no memory for it"))
        }
        Some(error) => Err(Failure::new(status, format!("wgpu: {}", one_line(&error.to_string())))),
    }
}

/// Words of wgpu, which has lines for people who look at code.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
