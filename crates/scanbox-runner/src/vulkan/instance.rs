//! The loader, the instance, and what the validation layer says.
//!
//! The loader is opened at run time, so that everything that needs no device works on machines without Vulkan.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ash::{ext, khr, vk};

use super::device::version_text;
use super::{Loader, VulkanError};

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";
/// Messages that are kept; a broken loop can produce millions.
const MAX_MESSAGES: usize = 1000;

/// What the validation layer reported, oldest first.
pub(super) type ValidationLog = Arc<Mutex<Vec<String>>>;

/// An instance, and the library it came from.
pub(super) struct Instance {
    pub raw: ash::Instance,
    messenger: Option<Messenger>,
    /// The functions of `raw` live in this library.
    _entry: ash::Entry,
}

/// The callback through which the validation layer speaks.
struct Messenger {
    functions: ext::debug_utils::Instance,
    raw: vk::DebugUtilsMessengerEXT,
    /// The callback gets a pointer to the mutex inside.
    #[cfg_attr(
        not(feature = "testing"),
        expect(dead_code, reason = "only tests read it; the callback writes it")
    )]
    log: ValidationLog,
}

impl Instance {
    /// Opens the loader (the system's, or the library at `loader`) and creates an instance.
    pub fn new(loader: Option<&Path>, validation: bool) -> Result<Self, VulkanError> {
        let (entry, _) = open_loader(loader)?;
        let application = vk::ApplicationInfo::default()
            .application_name(c"scanbox")
            .engine_name(c"scanbox")
            .api_version(vk::API_VERSION_1_3);
        // Without them the loader hides drivers that stand on another interface, such as MoltenVK on Metal.
        let portability = has_extension(&entry, khr::portability_enumeration::NAME)?;
        let mut info = vk::InstanceCreateInfo::default().application_info(&application);
        let mut extensions = Vec::new();
        if portability {
            info = info.flags(vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR);
            extensions.push(khr::portability_enumeration::NAME.as_ptr());
        }
        if validation {
            return Self::with_validation(entry, info, extensions);
        }
        let info = info.enabled_extension_names(&extensions);
        // SAFETY: `info` and what it points to live until the call returns.
        let raw = unsafe { entry.create_instance(&info, None) }.map_err(creation_error)?;
        Ok(Self { raw, messenger: None, _entry: entry })
    }

    fn with_validation(
        entry: ash::Entry,
        info: vk::InstanceCreateInfo<'_>,
        mut extension_names: Vec<*const c_char>,
    ) -> Result<Self, VulkanError> {
        if !has_validation_layer(&entry)? {
            return Err(VulkanError::NoValidationLayer);
        }

        let log = ValidationLog::default();
        let layer_names = [VALIDATION_LAYER.as_ptr()];
        extension_names.extend([ext::debug_utils::NAME, ext::validation_features::NAME].map(CStr::as_ptr));
        let enabled = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
        let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&enabled);
        // In the chain as well: creation and destruction of the instance are checked too.
        let mut during_creation = messenger_info(&log);
        let info = info
            .enabled_layer_names(&layer_names)
            .enabled_extension_names(&extension_names)
            .push_next(&mut features)
            .push_next(&mut during_creation);
        // SAFETY: `info` and what it points to live until the call returns; the log lives as long as the messenger.
        let raw = unsafe { entry.create_instance(&info, None) }.map_err(creation_error)?;

        let functions = ext::debug_utils::Instance::new(&entry, &raw);
        // SAFETY: the extension is enabled; the log outlives the messenger, which `Instance` destroys first.
        let messenger = unsafe { functions.create_debug_utils_messenger(&messenger_info(&log), None) };
        match messenger {
            Ok(messenger) => {
                let messenger = Some(Messenger { functions, raw: messenger, log });
                Ok(Self { raw, messenger, _entry: entry })
            }
            Err(result) => {
                // SAFETY: nothing was created from the instance.
                unsafe { raw.destroy_instance(None) };
                Err(VulkanError::call("vkCreateDebugUtilsMessengerEXT", result))
            }
        }
    }

    /// What the validation layer reported; empty without the layer. Outlives the instance.
    #[cfg(feature = "testing")]
    pub fn validation_log(&self) -> ValidationLog {
        self.messenger.as_ref().map(|messenger| Arc::clone(&messenger.log)).unwrap_or_default()
    }

    /// Whether the validation layer is on.
    pub fn validates(&self) -> bool {
        self.messenger.is_some()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: everything made from the instance holds it, so all of it is gone; the messenger goes first. The log
        // is a field and is dropped after this body, so it is alive while `destroy_instance` reports leaks to it.
        unsafe {
            if let Some(messenger) = &self.messenger {
                messenger.functions.destroy_debug_utils_messenger(messenger.raw, None);
            }
            self.raw.destroy_instance(None);
        }
    }
}

/// Opens the loader (the system's, or the library at `loader`), which offers Vulkan 1.1 at least: this version.
fn open_loader(loader: Option<&Path>) -> Result<(ash::Entry, u32), VulkanError> {
    // SAFETY: a Vulkan loader has no unsound initialisation; naming another library is the caller's decision.
    let entry = unsafe {
        match loader {
            Some(path) => ash::Entry::load_from(path),
            None => ash::Entry::load(),
        }
    }
    .map_err(|error| VulkanError::NoLoader { reason: error.to_string() })?;

    // SAFETY: the entry is loaded; the function has no preconditions.
    let version = unsafe { entry.try_enumerate_instance_version() }
        .map_err(|result| VulkanError::call("vkEnumerateInstanceVersion", result))?
        .unwrap_or(vk::API_VERSION_1_0);
    if version < vk::API_VERSION_1_1 {
        return Err(VulkanError::NoLoader { reason: "the loader offers Vulkan 1.0 only".to_owned() });
    }
    Ok((entry, version))
}

/// Whether the loader, or a driver behind it, has an extension of instances.
fn has_extension(entry: &ash::Entry, name: &CStr) -> Result<bool, VulkanError> {
    // SAFETY: the entry is loaded; the function has no preconditions.
    let extensions = unsafe { entry.enumerate_instance_extension_properties(None) }
        .map_err(|result| VulkanError::call("vkEnumerateInstanceExtensionProperties", result))?;
    Ok(extensions.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name)))
}

fn has_validation_layer(entry: &ash::Entry) -> Result<bool, VulkanError> {
    // SAFETY: the entry is loaded; the function has no preconditions.
    let layers = unsafe { entry.enumerate_instance_layer_properties() }
        .map_err(|result| VulkanError::call("vkEnumerateInstanceLayerProperties", result))?;
    Ok(layers.iter().any(|layer| layer.layer_name_as_c_str() == Ok(VALIDATION_LAYER)))
}

/// What the loader is, whether or not it finds a driver.
pub(super) fn loader(loader: Option<&Path>) -> Result<Loader, VulkanError> {
    let (entry, version) = open_loader(loader)?;
    let validation_layer = has_validation_layer(&entry)?;
    Ok(Loader { version: version_text(version), validation_layer })
}

/// A messenger that appends to `log`: only what concerns correct use, not the loader's remarks on its drivers.
fn messenger_info(log: &ValidationLog) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(
            vk::DebugUtilsMessageSeverityFlagsEXT::ERROR | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING,
        )
        .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
        .pfn_user_callback(Some(on_message))
        .user_data(Arc::as_ptr(log).cast_mut().cast())
}

/// Called by the layer, on the thread of the call that it complains about.
unsafe extern "system" fn on_message(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user_data: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer passes valid data for the time of the call, with a null-terminated message or none.
    let message = unsafe { (*data).message_as_c_str() };
    // SAFETY: the pointer comes from `messenger_info`, and the `Arc` behind it outlives the messenger.
    let log = unsafe { &*user_data.cast::<Mutex<Vec<String>>>() };
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    if log.len() < MAX_MESSAGES {
        log.push(message.unwrap_or_default().to_string_lossy().into_owned());
    }
    // The specification asks applications to return false: the call goes on.
    vk::FALSE
}

/// `vkCreateInstance` is where the loader says that no driver works.
fn creation_error(result: vk::Result) -> VulkanError {
    match result {
        vk::Result::ERROR_INCOMPATIBLE_DRIVER => VulkanError::NoDevice,
        vk::Result::ERROR_LAYER_NOT_PRESENT => VulkanError::NoValidationLayer,
        result => VulkanError::call("vkCreateInstance", result),
    }
}
