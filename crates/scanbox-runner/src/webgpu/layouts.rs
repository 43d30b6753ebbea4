//! What shaders bind, read off their text, and the layouts of that.

use std::collections::HashMap;

/// How a shader uses a storage buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum StorageUse {
    /// It reads it.
    Read,
    /// It reads and writes it.
    ReadWrite,
}

/// The storage buffers of a shader, from binding 1 on. One that it does not name is one that it reads.
pub(super) fn storage_of(text: &str) -> Vec<StorageUse> {
    let mut all = Vec::new();
    for part in text.split("@binding(").skip(1) {
        let Some((number, rest)) = part.split_once(')') else { continue };
        let Ok(number) = number.trim().trim_end_matches('u').parse::<usize>() else { continue };
        let space = rest.split_once("var<").and_then(|(_, rest)| rest.split_once('>'));
        let Some((space, _)) = space.filter(|_| number > 0) else { continue };
        all.resize(all.len().max(number), StorageUse::Read);
        if space.contains("read_write") {
            all[number - 1] = StorageUse::ReadWrite;
        }
    }
    all
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_are_read_off_the_text() {
        use StorageUse::{Read, ReadWrite};
        for (text, expected) in [
            ("", &[][..]),
            ("@group(0) @binding(0) var<uniform> call: BoundCall;", &[]),
            (
                "@binding(0) var<uniform> call: BoundCall;\n@binding(1) var<storage, read> a: array<u32>;",
                &[Read],
            ),
            (
                "@binding(2) var<storage, read_write> b: array<atomic<u32>>;\n@binding(1)\nvar<storage> a: X;",
                &[Read, ReadWrite],
            ),
            ("@group(0) @binding(3)var<storage,read_write>c: array<u32>;", &[Read, Read, ReadWrite]),
        ] {
            assert_eq!(storage_of(text), expected, "{text}");
        }
    }
}
