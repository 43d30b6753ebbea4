//! The one call of wgpu that is unsafe.

#![expect(
    unsafe_code,
    reason = "wgpu marks shaders without its checks so: whoever asks for them vouches for them"
)]

/// A shader without the checks that wgpu adds: of indices, of loops, of divisions.
pub(super) fn shader(device: &wgpu::Device, text: String) -> wgpu::ShaderModule {
    let source = wgpu::ShaderModuleDescriptor { label: None, source: wgpu::ShaderSource::Wgsl(text.into()) };
    // SAFETY: the shaders are scanbox's own. Their indices stay within what is bound, every element and a guard behind
    // it are compared, and their loops end where the plan is legal on the device.
    unsafe { device.create_shader_module_trusted(source, wgpu::ShaderRuntimeChecks::unchecked()) }
}
