//! What the user may type.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, CommandFactory, Parser, Subcommand};
use scanbox_model::api::Api;
use scanbox_model::safe_devices::Guarantee;
use scanbox_session::tools::{Browser, Tools, kernel_folder};

use crate::args::FOR_ALL;
use crate::args::sharing::is_wait;
use crate::args::speech::SpeechArgs;
use crate::args::words::{HelpWord, words};
use crate::commands;
use crate::exit::UsageError;

/// Finds the fastest prefix scan for a GPU at every input size, verifies it, and hands it to programs.
///
/// A first look: `scanbox` alone, then `scanbox sweep --device 0`, then `scanbox analyze results/*.csv --metric
/// squared`.
#[derive(Debug, Parser)]
#[command(version, max_term_width = crate::exit::HELP_WIDTH, after_help = crate::exit::help())]
pub struct Cli {
    /// Compile kernels from the sources in this folder instead of the built-in ones: a folder like kernels/glsl of
    /// scanbox's repository (kernels/wgsl for --api webgpu), or one that has it as glsl/ (wgsl/)
    #[arg(help_heading = FOR_ALL, long, global = true, value_name = "DIR", env = "SCANBOX_KERNELS")]
    pub kernels: Option<PathBuf>,

    /// Keep compiled kernels in this folder [default: the user's cache folder]
    #[arg(help_heading = FOR_ALL, long, global = true, value_name = "DIR", env = "SCANBOX_CACHE")]
    pub cache: Option<PathBuf>,

    /// Assume that the device gives this, whatever a probe found: progress, workgroup-order, subgroup-progress or
    /// co-residency. Kernels that need it then run; a config that hangs costs its row. Where a probe counted how many
    /// workgroups fit, configs of more stay out even so
    #[arg(help_heading = FOR_ALL, long, global = true, value_name = "GUARANTEE", value_delimiter = ',', env = "SCANBOX_ASSUME")]
    pub assume: Vec<Guarantee>,

    /// The interface through which devices are driven
    #[arg(help_heading = FOR_ALL, long, global = true, value_name = "API", env = "SCANBOX_API", value_parser = words(APIS), default_value = "vulkan")]
    pub api: Api,

    /// Whether WebGPU keeps accesses of kernels within bounds and clears the memory of their workgroups, as it does
    /// by default; rows say which
    #[arg(help_heading = FOR_ALL, long, global = true, value_name = "on|off", value_parser = words(SWITCH), default_value = "on", action = ArgAction::Set)]
    pub robustness: bool,

    /// With --api webgpu, the WebGPU of a browser: chromium starts the one of this system without a window, a path
    /// another one, and wait prints an address that any browser opens
    #[arg(help_heading = FOR_ALL, long, global = true, value_name = "chromium|wait|PATH")]
    pub browser: Option<Browser>,

    /// How it speaks.
    #[command(flatten)]
    pub speech: SpeechArgs,

    /// What to do [default: say what is on this machine, and what to do next]
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// What every run is handed.
    pub fn tools(&self) -> Tools {
        let cache = self.cache.clone().or_else(|| {
            directories::ProjectDirs::from("", "", "scanbox").map(|folders| folders.cache_dir().to_owned())
        });
        Tools {
            kernels: self.kernels.clone().map(|folder| kernel_folder(folder, self.api)),
            cache,
            assume: self.assume.clone(),
            api: self.api,
            unchecked: !self.robustness,
            browser: self.browser.clone(),
        }
    }

    /// Whether the command knows the API that the user chose.
    ///
    /// # Errors
    /// What stands in the way.
    pub fn check_api(&self) -> Result<(), UsageError> {
        let only_vulkan = match &self.command {
            Some(Command::Pack(_)) => "what programs ship are packs for Vulkan",
            Some(Command::Tune(_)) => "tune makes a pack for Vulkan; sweep measures through WebGPU",
            Some(Command::Rerun(_)) => "rerun measures through Vulkan alone",
            Some(Command::Devices(args)) if args.probes() => {
                "devices --probe asks through Vulkan alone; --assume says what a device gives"
            }
            Some(Command::Space(args)) if args.compiles() => "space --compile asks a driver of Vulkan",
            _ => "",
        };
        match self.api {
            Api::WebGpu if !only_vulkan.is_empty() => Err(UsageError(format!("--api webgpu: {only_vulkan}"))),
            Api::WebGpu if self.browser.is_some() && !self.robustness => {
                let message =
                    "--robustness off: a browser keeps its checks; it is for wgpu, without --browser";
                Err(UsageError(message.to_owned()))
            }
            Api::WebGpu if self.browser == Some(Browser::Wait) && self.speech.is_quiet() => {
                let message =
                    "--browser wait tells which address to open, which --quiet would keep to itself";
                Err(UsageError(message.to_owned()))
            }
            Api::Vulkan if self.browser.is_some() => {
                Err(UsageError("--browser is for --api webgpu: browsers have no Vulkan".to_owned()))
            }
            Api::Vulkan if !self.robustness => {
                let message = "--robustness off is for --api webgpu: kernels in Vulkan have no such checks";
                Err(UsageError(message.to_owned()))
            }
            _ => Ok(()),
        }
    }
}

const APIS: &[HelpWord<Api>] = &[
    ("vulkan", "", Api::Vulkan),
    ("webgpu", "through wgpu, which stands on Vulkan, Metal or D3D12, or in a --browser", Api::WebGpu),
];
const SWITCH: &[HelpWord<bool>] = &[("on", "", true), ("off", "", false)];

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the Vulkan devices, what each can do, and why one cannot be used
    Devices(commands::devices::DevicesArgs),
    /// Count a space on a device: configs, kernels and pipelines per size, and every rejection with its rule
    Space(commands::space::SpaceArgs),
    /// Measure and verify every config of a space; continue where the last run ended
    Sweep(commands::sweep::SweepArgs),
    /// Check that scans are right, without timing: sizes around every boundary, many inputs, garbage in memory
    Verify(commands::verify::VerifyArgs),
    /// Measure few subjects against each other in alternating blocks: configs, winners of a sweep, copies, baselines
    Bench(Box<commands::bench::BenchArgs>),
    /// Read times of another implementation that were measured elsewhere
    Import(commands::import::ImportArgs),
    /// Merge the sweeps of shards and attempts into one file, and name what is missing
    Merge(commands::merge::MergeArgs),
    /// Answer questions from sweeps: the best config per size, the best kernel, the portable kernel
    Analyze(commands::analyze::AnalyzeArgs),
    /// Show the answers as one HTML page with plots
    Report(commands::report::ReportArgs),
    /// Report whether a sweep is slower than the one before, also by the exit code: the gate of a nightly job
    Compare(commands::compare::CompareArgs),
    /// Measure a base again in turns with this version, by the program that made it: for `compare --pairs`
    Rerun(commands::rerun::RerunArgs),
    /// Write the rows of sweeps for other programs: the T4 format of autotuners, JSON, one CSV
    Export(commands::export::ExportArgs),
    /// Make a pack of sweeps, a file of kernels for every size that programs ship; show or check one
    Pack(Box<commands::pack::PackArgs>),
    /// Find the fastest kernels of a device for programs, and pack them, in one command
    Tune(Box<commands::tune::TuneArgs>),
    /// Explain a word: a label part by part, a metric, parameter, column, rule, status, guarantee or space
    Explain(commands::explain::ExplainArgs),
    /// Check what keeps scanbox from working here, and name a fix for each finding; change nothing
    Doctor(commands::doctor::DoctorArgs),
    /// Write completions of command lines for a shell
    Completions(commands::help_files::CompletionsArgs),
    /// Write a page of the manual, for `man -l -`
    Man(commands::help_files::ManArgs),
    /// Verify and time configs on request (internal)
    #[command(hide = true)]
    Serve(commands::serve::ServeArgs),
    /// Drive a device for a supervisor (internal)
    #[command(hide = true)]
    Worker(commands::worker::WorkerArgs),
    /// Run a browser as long as somebody wants it (internal)
    #[cfg(feature = "webgpu")]
    #[command(hide = true)]
    GuardBrowser(commands::guard_browser::GuardBrowserArgs),
}

/// Options whose value may be left out: which words are one, and what stands for none.
type Optional = (&'static str, fn(&str) -> bool, &'static str);
const OPTIONAL: &[Optional] =
    &[("--wait", is_wait, "forever"), ("--summary", commands::bench::is_view, "ratios")];

/// A command line in which such an option takes the next word only if that can be its value: `verify --wait b4...`
/// waits, and verifies a config.
pub fn with_values(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words.into_iter().peekable();
    let mut made = Vec::new();
    let mut options = true;
    while let Some(word) = words.next() {
        options = options && word != "--";
        let optional = OPTIONAL.iter().find(|(name, ..)| options && word == *name);
        let next = words.peek().and_then(|next| next.to_str());
        match (optional, next) {
            (Some((name, is_value, default)), Some(next)) if !next.starts_with('-') && !is_value(next) => {
                made.push(format!("{name}={default}").into());
            }
            _ => made.push(word),
        }
    }
    made
}

/// The command and its arguments as they were given, but for one option.
pub fn arguments_without(matches: &ArgMatches, option: &str) -> Vec<OsString> {
    let Some((name, given)) = matches.subcommand() else { return Vec::new() };
    // What it prints goes through this process, which paints it.
    let left_out = [option, "color"];
    let all = Cli::command();
    let own = all.find_subcommand(name).into_iter().flat_map(clap::Command::get_arguments);
    let mut arguments = vec![OsString::from(name)];
    for argument in all
        .get_arguments()
        .chain(own)
        .filter(|argument| !left_out.iter().any(|option| argument.get_id() == option))
    {
        let id = argument.get_id().as_str();
        if given.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let flag = argument.get_long().map(|long| OsString::from(format!("--{long}")));
        if !argument.get_action().takes_values() {
            arguments.extend(flag);
            continue;
        }
        for value in given.get_raw(id).into_iter().flatten() {
            arguments.extend(flag.clone());
            arguments.push(value.to_owned());
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_value_does_not_take_what_is_none() {
        let check = |given: &str, expected: &str| {
            let words = with_values(given.split(' ').map(OsString::from));
            assert_eq!(words.join(std::ffi::OsStr::new(" ")), expected);
            let line = [OsString::from("scanbox")].into_iter().chain(words);
            assert!(Cli::command().try_get_matches_from(line).is_ok(), "{given}");
        };
        let config = "b4.vec4.par.rake.wg64";
        check(&format!("verify --wait {config}"), &format!("verify --wait=forever {config}"));
        check(&format!("verify --wait 60s {config}"), &format!("verify --wait 60s {config}"));
        check(&format!("verify {config} --wait"), &format!("verify {config} --wait"));
        check("sweep --wait --seed 3", "sweep --wait --seed 3");
        check(&format!("bench --summary {config}"), &format!("bench --summary=ratios {config}"));
        check(&format!("bench --summary views {config}"), &format!("bench --summary views {config}"));
        check(&format!("bench --wait=1s -- {config}"), &format!("bench --wait=1s -- {config}"));
    }

    /// A new option of this kind asks for `=`, or is in the table.
    #[test]
    fn every_option_with_an_optional_value_is_known() {
        for command in Cli::command().get_subcommands_mut() {
            command.build();
            for arg in command.get_arguments().filter(|arg| arg.get_long().is_some()) {
                // One that has any number of values takes all words that may be some.
                let may_lack = arg.get_action().takes_values()
                    && arg
                        .get_num_args()
                        .is_some_and(|count| count.min_values() == 0 && count.max_values() == 1)
                    && !arg.is_require_equals_set();
                let name = format!("--{}", arg.get_long().unwrap_or_default());
                let known = OPTIONAL.iter().any(|(option, ..)| *option == name);
                assert_eq!(may_lack, known, "{} {name}", command.get_name());
            }
        }
    }

    #[test]
    fn a_command_line_is_made_again_from_what_it_says() {
        fn check(given: &[&str], expected: &[&str]) {
            let parse = |words: &[&str]| {
                let words = std::iter::once("scanbox").chain(words.iter().copied());
                Cli::command().try_get_matches_from(words).unwrap()
            };
            let made = arguments_without(&parse(given), "device");
            assert_eq!(made, expected);
            // And it means the same.
            let again: Vec<&str> = made.iter().map(|word| word.to_str().unwrap()).collect();
            assert_eq!(arguments_without(&parse(&again), "device"), expected);
        }
        check(&["sweep"], &["sweep"]);
        check(&["sweep", "--device", "all", "--seed", "3"], &["sweep", "--seed", "3"]);
        check(&["sweep", "--device=0", "--dry-run", "--device", "2"], &["sweep", "--dry-run"]);
        check(&["--cache", "c", "sweep", "--wait"], &["sweep", "--cache", "c", "--wait", "forever"]);
        check(
            &["sweep", "--assume", "workgroup-order,co-residency"],
            &["sweep", "--assume", "workgroup-order", "--assume", "co-residency"],
        );
    }
}
