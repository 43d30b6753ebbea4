//! The device of a program, and what it has to enable there.

use std::ffi::CStr;
use std::slice;
use std::sync::Arc;

use ash::vk::{self, Handle};
use scanbox_pack::Pack;
use scanbox_vk::{Scanner, ScannerInfo, wanted};

use crate::arguments::{features, place, promises, structure};
use crate::failure::{Refusal, ScanboxResult, checked};
use crate::handles::{PFN_vkGetInstanceProcAddr, VkInstance, VkPhysicalDevice};
use crate::structures::{SCANBOX_MOST_EXTENSIONS, ScanboxFeatures, ScanboxScannerInfo};

/// Makes scans for a device: see scanbox_scanner_create.
pub struct ScanboxScanner {
    pub(super) scanner: Scanner,
}

/// The functions of an instance.
///
/// # Safety
/// The instance is valid, and was made with this loader.
unsafe fn loaded(
    get_instance_proc_addr: PFN_vkGetInstanceProcAddr,
    instance: VkInstance,
    physical: VkPhysicalDevice,
) -> Result<ash::Instance, Refusal> {
    let get_instance_proc_addr = get_instance_proc_addr.ok_or_else(|| {
        Refusal::argument("get_instance_proc_addr is NULL: pass the vkGetInstanceProcAddr of the loader")
    })?;
    if instance.is_null() || physical.is_null() {
        return Err(Refusal::argument(
            "instance or physical device is VK_NULL_HANDLE: pass those of the device",
        ));
    }
    // Where one is missing, nothing that is called in its place could say so.
    // SAFETY: the caller sees to the instance; the name ends with a zero.
    let is_there = |name: &CStr| unsafe { get_instance_proc_addr(instance, name.as_ptr()) }.is_some();
    if !is_there(c"vkGetPhysicalDeviceFeatures2") || !is_there(c"vkGetPhysicalDeviceProperties2") {
        return Err(Refusal::argument(
            "the instance is one of Vulkan 1.0: make it with apiVersion 1.3 or newer in VkApplicationInfo",
        ));
    }
    // SAFETY: the caller sees to the instance.
    Ok(unsafe { ash::Instance::load(&ash::StaticFn { get_instance_proc_addr }, instance) })
}

/// Sets what a device has to have enabled to VK_TRUE, and what of it makes more kernels run, where the device has it;
/// all else in the structures stays as it is, but for sType. Sets extensions and extension_count too.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_wanted(
    get_instance_proc_addr: PFN_vkGetInstanceProcAddr,
    instance: VkInstance,
    physical_device: VkPhysicalDevice,
    features: *mut ScanboxFeatures,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the structure, which is as large as it says.
        let into = unsafe { &mut *structure(features)? };
        // SAFETY: the program sees to the instance.
        let instance = unsafe { loaded(get_instance_proc_addr, instance, physical_device) }?;
        // SAFETY: as above; the physical device is its.
        let wanted = unsafe { wanted(&instance, physical_device) }.map_err(Refusal::from)?;
        merge(into, wanted.features);
        let names = wanted.extensions.iter().map(|name| name.as_ptr()).take(SCANBOX_MOST_EXTENSIONS);
        into.extensions = [std::ptr::null(); SCANBOX_MOST_EXTENSIONS];
        into.extension_count = names.len() as u32;
        into.extensions.iter_mut().zip(names).for_each(|(place, name)| *place = name);
        Ok(())
    })
}

/// Adds features to those that are set.
fn merge(into: &mut ScanboxFeatures, wanted: scanbox_vk::Features) {
    into.v12.s_type = wanted.v12.s_type;
    into.v13.s_type = wanted.v13.s_type;
    into.uniform_control_flow.s_type = wanted.uniform_control_flow.s_type;
    into.maximal_reconvergence.s_type = wanted.maximal_reconvergence.s_type;
    let on = [
        (&mut into.v10.shader_int64, wanted.v10.shader_int64),
        (&mut into.v10.shader_float64, wanted.v10.shader_float64),
        (&mut into.v12.buffer_device_address, wanted.v12.buffer_device_address),
        (&mut into.v12.vulkan_memory_model, wanted.v12.vulkan_memory_model),
        (&mut into.v12.vulkan_memory_model_device_scope, wanted.v12.vulkan_memory_model_device_scope),
        (&mut into.v12.shader_buffer_int64_atomics, wanted.v12.shader_buffer_int64_atomics),
        (&mut into.v12.shader_subgroup_extended_types, wanted.v12.shader_subgroup_extended_types),
        (&mut into.v13.subgroup_size_control, wanted.v13.subgroup_size_control),
        (&mut into.v13.compute_full_subgroups, wanted.v13.compute_full_subgroups),
        (&mut into.v13.synchronization2, wanted.v13.synchronization2),
        (&mut into.v13.maintenance4, wanted.v13.maintenance4),
        (
            &mut into.uniform_control_flow.shader_subgroup_uniform_control_flow,
            wanted.uniform_control_flow.shader_subgroup_uniform_control_flow,
        ),
        (
            &mut into.maximal_reconvergence.shader_maximal_reconvergence,
            wanted.maximal_reconvergence.shader_maximal_reconvergence,
        ),
    ];
    on.into_iter().filter(|(_, wanted)| *wanted == vk::TRUE).for_each(|(feature, _)| *feature = vk::TRUE);
}

/// Makes a scanner from a device of the program and a pack.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_scanner_create(
    info: *const ScanboxScannerInfo,
    scanner: *mut *mut ScanboxScanner,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the pointer.
        let place = unsafe { place(scanner) }?;
        // SAFETY: the program sees to the structure, which is as large as it says.
        let info = unsafe { &*structure(info.cast_mut())? };
        // SAFETY: the program sees to the instance.
        let instance = unsafe { loaded(info.get_instance_proc_addr, info.instance, info.physical_device) }?;
        if info.device.is_null() {
            return Err(Refusal::argument("scanbox_scanner_info.device is VK_NULL_HANDLE: pass your device"));
        }
        // SAFETY: the program sees to the structure, which is as large as it says.
        let enabled = features(unsafe { &*structure(info.enabled.cast_mut())? });
        let promises = promises(info.promises)?;
        if info.pack.is_null() {
            return Err(Refusal::argument(
                "scanbox_scanner_info.pack is NULL: pass the bytes of a .scanpack file",
            ));
        }
        // SAFETY: the program sees to the bytes.
        let bytes = unsafe { slice::from_raw_parts(info.pack.cast::<u8>(), info.pack_bytes) };
        let pack = Arc::new(Pack::read(bytes).map_err(scanbox_vk::HandOverError::from)?);
        // SAFETY: the program sees to instance and device.
        let device = unsafe { ash::Device::load(instance.fp_v1_0(), info.device) };
        let info = ScannerInfo {
            instance: &instance,
            physical: info.physical_device,
            device: &device,
            enabled,
            pipeline_cache: info.pipeline_cache,
            pack,
            promises,
        };
        // SAFETY: the program sees to all that it has passed.
        let scanner = unsafe { Scanner::new(&info) }?;
        *place = Box::into_raw(Box::new(ScanboxScanner { scanner }));
        Ok(())
    })
}

/// Frees a scanner. Scans that were made with it stay as they are. NULL is fine.
///
/// # Safety
/// As [`mod@super`] says; nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_scanner_destroy(scanner: *mut ScanboxScanner) {
    if !scanner.is_null() {
        // SAFETY: it was made here, and the program frees it once.
        let scanner = unsafe { Box::from_raw(scanner) };
        checked(|| {
            drop(scanner);
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wanted gets into the structure, and what the program enables by it gets to the library.
    #[test]
    fn features_of_extensions_get_there_and_back() {
        let [mut uniform, mut maximal] = [scanbox_vk::Features::default(); 2];
        uniform.uniform_control_flow.shader_subgroup_uniform_control_flow = vk::TRUE;
        maximal.maximal_reconvergence.shader_maximal_reconvergence = vk::TRUE;
        for wanted in [scanbox_vk::Features::default(), uniform, maximal] {
            // SAFETY: zeros are what a program begins with.
            let mut into: ScanboxFeatures = unsafe { std::mem::zeroed() };
            merge(&mut into, wanted);
            let enabled = features(&into);
            assert!(enabled.extensions().eq(wanted.extensions()));
            assert_eq!(
                into.maximal_reconvergence.s_type,
                vk::StructureType::PHYSICAL_DEVICE_SHADER_MAXIMAL_RECONVERGENCE_FEATURES_KHR
            );
        }
    }
}
