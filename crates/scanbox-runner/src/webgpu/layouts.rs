//! The layouts of what shaders bind.

use std::collections::HashMap;

use super::storage::StorageUse;

/// The layouts of bindings that were asked for.
#[derive(Default)]
pub(super) struct Layouts(HashMap<Vec<StorageUse>, (wgpu::BindGroupLayout, wgpu::PipelineLayout)>);

impl Layouts {
    /// The layouts of words and these storage buffers.
    pub fn of(
        &mut self,
        device: &wgpu::Device,
        storage: &[StorageUse],
    ) -> &(wgpu::BindGroupLayout, wgpu::PipelineLayout) {
        if !self.0.contains_key(storage) {
            self.0.insert(storage.to_vec(), new(device, storage));
        }
        &self.0[storage]
    }
}

fn new(device: &wgpu::Device, storage: &[StorageUse]) -> (wgpu::BindGroupLayout, wgpu::PipelineLayout) {
    let entry = |binding, ty, has_dynamic_offset| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
        count: None,
    };
    let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform, true)];
    entries.extend((1..).zip(storage).map(|(binding, storage)| {
        let read_only = *storage == StorageUse::Read;
        entry(binding, wgpu::BufferBindingType::Storage { read_only }, false)
    }));
    let group =
        device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
    let pipeline = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(&group)],
        immediate_size: 0,
    });
    (group, pipeline)
}
