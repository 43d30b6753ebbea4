//! Buffers: memory on the device or the host, reached by address.

use std::sync::Arc;

use ash::vk;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme};
use gpu_allocator::{AllocationError, MemoryLocation};
use scanbox_model::record::Status;

use super::device::Gpu;
use super::failed;
use crate::backend::Failure;

pub(super) const WORD_BYTES: u64 = 4;
/// The widest access of a kernel is one vector of four elements of 16 bytes; buffers end on such a boundary.
const VECTOR_BYTES: u64 = 64;

/// A buffer with memory of its own.
pub(super) struct Buffer {
    gpu: Arc<Gpu>,
    raw: vk::Buffer,
    /// Taken when the buffer is dropped.
    allocation: Option<Allocation>,
    address: vk::DeviceAddress,
    bytes: u64,
}

impl Buffer {
    /// A buffer of at least `bytes` bytes.
    pub fn new(gpu: &Arc<Gpu>, name: &str, bytes: u64, location: MemoryLocation) -> Result<Self, Failure> {
        let too_large = |reason: String| {
            Failure::new(Status::OutOfMemory, format!("{name} buffer of {bytes} bytes: {reason}"))
        };
        let max_bytes = gpu.limits.max_buffer_bytes;
        let bytes = bytes
            .checked_next_multiple_of(VECTOR_BYTES)
            .filter(|bytes| *bytes <= max_bytes)
            .ok_or_else(|| too_large(format!("the device allows {max_bytes} bytes per buffer")))?;
        let info = vk::BufferCreateInfo::default()
            .size(bytes)
            .usage(
                vk::BufferUsageFlags::STORAGE_BUFFER
                    | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
                    | vk::BufferUsageFlags::TRANSFER_SRC
                    | vk::BufferUsageFlags::TRANSFER_DST,
            )
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: the size is not zero (the callers see to it) and within the limit; bufferDeviceAddress is enabled.
        let raw = unsafe { gpu.raw.create_buffer(&info, None) }.map_err(|result| {
            let Failure { status, reason } = failed("vkCreateBuffer", result);
            Failure::new(status, format!("{name} buffer of {bytes} bytes: {reason}"))
        })?;
        // An owner from here on.
        let mut buffer = Self { gpu: Arc::clone(gpu), raw, allocation: None, address: 0, bytes };

        // SAFETY: the buffer is valid.
        let requirements = unsafe { gpu.raw.get_buffer_memory_requirements(raw) };
        // An allocation above maxMemoryAllocationSize is tried too: that limit is a promise downwards, and NVIDIA
        // grants more.
        let allocation = gpu.allocator().allocate(&AllocationCreateDesc {
            name,
            requirements,
            location,
            linear: true,
            allocation_scheme: AllocationScheme::DedicatedBuffer(raw),
        });
        let allocation = allocation.map_err(|error| match error {
            AllocationError::OutOfMemory => {
                too_large(format!("the driver has no {} bytes for it", requirements.size))
            }
            error => Failure::new(Status::RuntimeError, format!("{name} buffer of {bytes} bytes: {error}")),
        })?;
        // SAFETY: the memory was allocated for this buffer alone and is not bound to another.
        let bound = unsafe { gpu.raw.bind_buffer_memory(raw, allocation.memory(), allocation.offset()) };
        buffer.allocation = Some(allocation);
        bound.map_err(|result| failed("vkBindBufferMemory", result))?;
        let address_info = vk::BufferDeviceAddressInfo::default().buffer(raw);
        // SAFETY: the buffer has the usage for it and is bound to memory that was allocated for addresses.
        buffer.address = unsafe { gpu.raw.get_buffer_device_address(&address_info) };
        gpu.name(raw, name);
        Ok(buffer)
    }

    pub fn raw(&self) -> vk::Buffer {
        self.raw
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn address(&self) -> vk::DeviceAddress {
        self.address
    }

    /// The words of a buffer in host memory.
    pub fn words(&mut self) -> &mut [u32] {
        let words = (self.bytes / WORD_BYTES) as usize;
        let allocation = self.allocation.as_ref().expect("a buffer has its memory until it is dropped");
        let pointer = allocation.mapped_ptr().expect("the memory was asked for in host memory").cast::<u32>();
        assert!(
            pointer.is_aligned(),
            "mapped memory is aligned to at least 64 bytes (minMemoryMapAlignment)"
        );
        // SAFETY: the memory is mapped, at least `bytes` long, aligned, used by this buffer alone, and any bits are
        // a valid u32. `&mut self` keeps other host accesses out; the device is not using the buffer, because its
        // submissions are waited for before this is called.
        unsafe { std::slice::from_raw_parts_mut(pointer.as_ptr(), words) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: no submitted work uses the buffer: every submission is waited for, and a session that gave up
        // waiting never drops its buffers.
        unsafe { self.gpu.raw.destroy_buffer(self.raw, None) };
        if let Some(allocation) = self.allocation.take() {
            // It fails only for memory of another allocator.
            let _ = self.gpu.allocator().free(allocation);
        }
    }
}

/// A place in a buffer, in bytes.
#[derive(Clone, Copy)]
pub(super) struct BufferOffset<'a> {
    pub buffer: &'a Buffer,
    pub offset: u64,
}

impl BufferOffset<'_> {
    pub fn address(&self) -> vk::DeviceAddress {
        self.buffer.address() + self.offset
    }
}

/// What the host reads of the device: memory on both sides.
pub(super) struct Fetched {
    pub device: Buffer,
    pub host: Buffer,
}

impl Fetched {
    pub fn new(gpu: &Arc<Gpu>, name: &str, bytes: u64) -> Result<Self, Failure> {
        Ok(Self {
            device: Buffer::new(gpu, name, bytes, MemoryLocation::GpuOnly)?,
            host: Buffer::new(gpu, &format!("{name} readback"), bytes, MemoryLocation::GpuToCpu)?,
        })
    }
}
