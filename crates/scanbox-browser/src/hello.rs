//! What a page says first: which browser it is in, and what its adapter is and can do.

use std::collections::BTreeMap;

use scanbox_model::api::Api;
use scanbox_model::device::{DeviceKind, DeviceProfile, Forced};
use scanbox_model::guarantee_probe::GuaranteeFacts;
use scanbox_model::timer::Timer;
use scanbox_runner::select::Listed;
use serde::Deserialize;
use serde_json::Value;

use crate::error::BrowserError;

/// Storage buffers that kernels bind.
const BINDINGS: u64 = 6;
/// Invocations of a workgroup that helpers need.
const HELPER_WORKGROUP_SIZE: u64 = 256;
/// Buffers that are as large as the input: more WebGPU does not tell of memory.
const LARGE_BUFFERS: u64 = 4;

/// The first word of a page.
#[derive(Debug, Clone, Deserialize)]
pub struct Hello {
    /// What the browser calls itself for servers.
    agent: String,
    /// What it calls itself where it is asked, with whole versions.
    brands: Vec<Brand>,
    /// The adapter, if there is one.
    adapter: Option<PageAdapter>,
    /// Why there is none.
    why: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Brand {
    brand: String,
    version: String,
}

#[derive(Debug, Clone, Deserialize)]
struct PageAdapter {
    /// What browsers tell differs.
    info: BTreeMap<String, Value>,
    limits: BTreeMap<String, f64>,
    features: Vec<String>,
}

impl PageAdapter {
    fn text(&self, name: &str) -> &str {
        self.info.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, name: &str) -> u32 {
        self.info.get(name).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
    }

    fn limit(&self, name: &str) -> Result<u64, BrowserError> {
        let limit = self.limits.get(name).copied().unwrap_or(-1.0);
        if limit.fract() != 0.0 || !(0.0..=u64::MAX as f64).contains(&limit) {
            return Err(BrowserError::Nonsense(format!("its limit {name} is {limit}")));
        }
        Ok(limit as u64)
    }

    fn small_limit(&self, name: &str) -> Result<u32, BrowserError> {
        Ok(u32::try_from(self.limit(name)?).unwrap_or(u32::MAX))
    }

    fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|name| name == feature)
    }
}

/// Browsers by what they call themselves for servers, and who implements WebGPU there.
const ENGINES: [(&str, &str, &str); 3] =
    [("Chrome/", "Chromium", "Dawn"), ("Firefox/", "Firefox", "wgpu"), ("Version/", "Safari", "WebKit")];

impl Hello {
    /// The browser and its version, and who implements WebGPU there.
    fn browser(&self) -> (String, &'static str) {
        if let Some(brand) = self.brands.iter().find(|brand| brand.brand == "Chromium") {
            return (format!("Chromium {}", brand.version), "Dawn");
        }
        for (mark, name, engine) in ENGINES {
            if let Some((_, rest)) = self.agent.split_once(mark) {
                return (format!("{name} {}", rest.split([' ', ';']).next().unwrap_or_default()), engine);
            }
        }
        (format!("a browser `{}`", self.agent.chars().take(80).collect::<String>()), "WebGPU")
    }

    /// Who speaks where something is wrong: Dawn, wgpu or `WebKit`.
    #[must_use]
    pub fn engine(&self) -> &'static str {
        self.browser().1
    }

    /// Whether passes have timestamps.
    #[must_use]
    pub fn has_timestamps(&self) -> bool {
        self.adapter.as_ref().is_some_and(|adapter| adapter.has("timestamp-query"))
    }

    /// The device of the page.
    ///
    /// # Errors
    /// When it has none, and when what it says of it cannot be.
    pub fn listed(&self) -> Result<Listed, BrowserError> {
        let Some(adapter) = &self.adapter else {
            return Err(BrowserError::NoAdapter { browser: self.browser().0, why: self.why.clone() });
        };
        let bindings = adapter.limit("maxStorageBuffersPerShaderStage")?;
        let invocations = adapter.limit("maxComputeInvocationsPerWorkgroup")?;
        let problems = [
            (bindings < BINDINGS)
                .then(|| format!("binds {bindings} storage buffers, and {BINDINGS} are needed")),
            (invocations < HELPER_WORKGROUP_SIZE).then(|| {
                format!("has workgroups of {invocations} invocations, and {HELPER_WORKGROUP_SIZE} are needed")
            }),
        ];
        let profile = self.profile(adapter)?;
        Ok(Listed { profile, problems: problems.into_iter().flatten().collect() })
    }

    fn profile(&self, adapter: &PageAdapter) -> Result<DeviceProfile, BrowserError> {
        let (browser, engine) = self.browser();
        let implementation = match adapter.text("backend") {
            "" => format!("{engine} ({browser})"),
            below => format!("{engine} ({browser}, {})", api_below(below)),
        };
        let [vendor, architecture] = ["vendor", "architecture"].map(|name| adapter.text(name));
        let named =
            [adapter.text("description"), adapter.text("device")].into_iter().find(|name| !name.is_empty());
        let name = named.map_or_else(|| format!("{vendor} {architecture}").trim().to_owned(), str::to_owned);
        let is_software = adapter.info.get("isFallbackAdapter").and_then(Value::as_bool).unwrap_or(false)
            || adapter.text("type") == "CPU"
            || architecture == "swiftshader";
        let [least, most] = if adapter.has("subgroups") {
            ["subgroupMinSize", "subgroupMaxSize"].map(|name| adapter.number(name).max(1))
        } else {
            [1; 2]
        };
        let buffer = adapter.limit("maxBufferSize")?;
        Ok(DeviceProfile {
            api: Api::WebGpu,
            uuid: uuid(&[vendor, architecture, adapter.text("device"), adapter.text("description")]),
            name: if name.is_empty() { "GPU of a browser".to_owned() } else { name },
            pci_address: None,
            vendor_id: hexadecimal(vendor),
            device_id: hexadecimal(adapter.text("device")),
            kind: if is_software { DeviceKind::Software } else { DeviceKind::Hardware },
            driver: match adapter.text("driver") {
                "" => browser.clone(),
                driver => driver.to_owned(),
            },
            driver_build: String::new(),
            api_version: browser,
            implementation,
            // Nobody switches the checks of a browser off here.
            robustness: Some(true),
            timer: if self.has_timestamps() { Timer::Timestamps } else { Timer::Wall },
            timer_resolution_ns: 0.0,
            subgroup_size: least,
            min_subgroup_size: least,
            max_subgroup_size: most.max(least),
            pinned_subgroups: None,
            max_workgroup_size: adapter
                .small_limit("maxComputeInvocationsPerWorkgroup")?
                .min(adapter.small_limit("maxComputeWorkgroupSizeX")?),
            max_workgroup_count: [adapter.small_limit("maxComputeWorkgroupsPerDimension")?; 3],
            max_shared_bytes: adapter.small_limit("maxComputeWorkgroupStorageSize")?,
            max_storage_buffer_bytes: adapter.limit("maxStorageBufferBindingSize")?.min(buffer),
            max_allocation_bytes: buffer,
            memory_bytes: buffer.saturating_mul(LARGE_BUFFERS).min(i64::MAX as u64),
            compute_units: None,
            assumed_compute_units: None,
            buffer_addresses: false,
            int64_atomics: false,
            int64_elements: false,
            float64_elements: false,
            uniform_control_flow: false,
            maximal_reconvergence: false,
            // WebGPU gives timestamps in nanoseconds.
            timestamp_period_ns: 1.0,
            timestamp_valid_bits: 64,
            forced: Forced::default(),
            guarantees: Vec::new(),
            guarantee_facts: GuaranteeFacts::default(),
            residency: None,
            arguments_probe: None,
        })
    }
}

/// The API below, as it is written.
fn api_below(name: &str) -> String {
    match name {
        "vulkan" => "Vulkan".to_owned(),
        "metal" => "Metal".to_owned(),
        "d3d12" | "D3D12" => "D3D12".to_owned(),
        other => other.chars().take(20).collect(),
    }
}

/// Browsers tell numbers of vendors and devices as texts, where they tell them.
fn hexadecimal(text: &str) -> u32 {
    text.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

/// Browsers tell no UUID: one of what they tell.
fn uuid(said: &[&str]) -> String {
    let hash = blake3::hash(said.join("\n").as_bytes()).to_hex();
    format!("{}-{}-{}-{}-{}", &hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..32])
}
