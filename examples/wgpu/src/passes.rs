//! What a program with wgpu has before it has scanbox: passes.

/// A compute pass of wgpu on some buffers.
pub fn compute(
    device: &wgpu::Device,
    encoder: &mut wgpu::CommandEncoder,
    source: &str,
    entry: &str,
    buffers: &[&wgpu::Buffer],
    workgroups: u32,
) {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some(entry),
        compilation_options: Default::default(),
        cache: None,
    });
    let resources = buffers.iter().map(|buffer| buffer.as_entire_binding());
    let entries = (0..).zip(resources).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource });
    let entries: Vec<_> = entries.collect();
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    });
    let mut pass = encoder.begin_compute_pass(&Default::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(workgroups, 1, 1);
}
